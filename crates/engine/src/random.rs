//! Random checkpoints: the initialisation of Hugging Face models from a counter-based generator.
//!
//! A number is a function of (seed, tensor name, index) that only this crate's operations compute, so it is the same on every machine.

use std::path::Path;

use crate::companions::Companions;
use crate::config::ModelConfig;
use crate::error::EngineError;
use crate::kernels::Plain;
use crate::kernels::math::log;
use crate::model::layout::{Layout, Slot};
use crate::train::SavedWeights;

/// Writes a model of `config_dir/config.json` with random weights into `out_dir`, with the tokenizer files of `config_dir`.
///
/// Matrices and embeddings are normal with standard deviation `initializer_range`, norms 1, biases 0.
///
/// # Errors
/// As [`ModelConfig::from_dir`] and [`crate::Trainer::save`].
pub fn random_checkpoint(config_dir: &Path, out_dir: &Path, seed: u64) -> Result<SavedWeights, EngineError> {
    let config = ModelConfig::from_dir(config_dir)?;
    let layout = Layout::new(&config);
    let mut flat = vec![0f32; layout.total];
    for slot in &layout.slots {
        fill(
            slot,
            seed,
            config.initializer_range as f32,
            &mut flat[slot.range.clone()],
        );
    }
    let companions = Companions::read(config_dir)?;
    crate::train::save_flat(out_dir, &config, &companions, &layout, &flat)
}

fn fill(slot: &Slot, seed: u64, deviation: f32, out: &mut [f32]) {
    if slot.shape.len() == 1 {
        out.fill(if slot.name.ends_with("bias") { 0.0 } else { 1.0 });
        return;
    }
    let key = slot
        .name
        .bytes()
        .fold(mix(seed), |key, byte| mix(key ^ u64::from(byte)));
    for (pair, out) in out.chunks_mut(2).enumerate() {
        let normals = two_normals(key, pair as u64);
        for (out, normal) in out.iter_mut().zip(normals) {
            *out = deviation * normal;
        }
    }
}

/// Marsaglia's polar method: two standard normal numbers from points drawn until one lies in the unit disc.
fn two_normals(key: u64, index: u64) -> [f32; 2] {
    let mut state = mix(key ^ mix(index));
    loop {
        state = mix(state);
        let [u, v] = [state >> 40, state >> 8 & 0xff_ffff].map(|bits| (bits as f32 + 0.5) / 8_388_608.0 - 1.0);
        let square = u * u + v * v;
        if square > 0.0 && square < 1.0 {
            let scale = (-2.0 * log::<Plain>(square) / square).sqrt();
            return [u * scale, v * scale];
        }
    }
}

/// The output function of SplitMix64 (Steele et al. 2014), after its increment.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_standard_normal_and_depend_on_seed_and_index() {
        let numbers: Vec<f64> = (0..50_000).flat_map(|at| two_normals(7, at)).map(f64::from).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / numbers.len() as f64;
        let kurtosis =
            numbers.iter().map(|x| (x - mean).powi(4)).sum::<f64>() / numbers.len() as f64 / variance.powi(2);
        assert!(
            mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03 && (kurtosis - 3.0).abs() < 0.1,
            "{mean} {variance} {kurtosis}"
        );
        assert_ne!(two_normals(7, 0), two_normals(8, 0));
        assert_eq!(two_normals(7, 3), two_normals(7, 3));
    }
}
