use super::{Left, gemm};
use crate::compute::Compute;
use crate::config::WeightDtype;
use crate::isa::Tier;
use crate::kernels::pack::Packed;
use std::time::Instant;

#[test]
#[ignore]
fn rates() {
    for (m, k, n) in [(1024, 1024, 1024), (2048, 384, 1152), (2048, 1152, 384), (2048, 384, 640), (2048,384,384), (2048,384,4096),(2048,768,2048),(2048,2048,768),(2048,768,1280),(2048,768,16384),(384,2048,1152),(768,2048,2048),(1,768,2048),(16,768,2048),(64,768,2048)] {
        for tier in [Tier::Avx512Bf16, Tier::Amx] {
            for threads in [1,2] {
                let compute = Compute::new(threads, Some(tier)).unwrap();
                let a: Vec<f32> = (0..m * k).map(|i| (i * 7919 % 1000) as f32 / 1000.0 - 0.5).collect();
                let b: Vec<f32> = (0..n * k).map(|i| (i * 7919 % 1003) as f32 / 1000.0 - 0.5).collect();
                let mut c = vec![0f32; m * n];
                let mut packed = Packed::kept_as(WeightDtype::Bf16);
                let mut best = [f64::MAX; 5];
                let rounds = (2e10 / (m * n * k) as f64).clamp(5.0, 40.0) as usize;
                for _ in 0..rounds {
                    let t = Instant::now();
                    packed.pack_transposed(&compute, &b, n, k);
                    best[1] = best[1].min(t.elapsed().as_secs_f64());
                    let t = Instant::now();
                    gemm(&compute, m, Left::columns(&a, m), &packed, &mut c, false);
                    best[2] = best[2].min(t.elapsed().as_secs_f64());
                    let t = Instant::now();
                    packed.pack(&compute, &b, k, n);
                    best[3] = best[3].min(t.elapsed().as_secs_f64());
                    for _ in 0..3 {
                    let t = Instant::now();
                    gemm(&compute, m, Left::rows(&a, k), &packed, &mut c, false);
                    best[0] = best[0].min(t.elapsed().as_secs_f64());
                    }
                }
                let rate = |s: f64| (2 * m * n * k) as f64 / s / 1e9;
                println!("{m}x{k}x{n} {tier:?} {threads}t: {:.0} GF/s rows ({:.1} us), {:.0} columns, pack_t {:.1} us, pack {:.1} us", rate(best[0]), best[0]*1e6, rate(best[2]), best[1]*1e6, best[3]*1e6);
            }
        }
    }
}
