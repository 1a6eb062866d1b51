//! The backward pass of one head's attention in tiles of bfloat16 numbers.

use std::cell::RefCell;

use super::attention::{Around, KeyGradients, Out, write_key_gradients};
use crate::kernels::amx::attend_backward::{CHUNK, Chunk, Head, Rows};
use crate::kernels::attention::padded;
use crate::kernels::buffer::Buffer;
use crate::model::layer::Pass;
use crate::model::rows::Span;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

#[derive(Default)]
struct Scratch {
    head: Head,
    /// Keys and values, then the queries and the gradients of a chunk.
    rows: [Buffer; 2],
}

/// Writes the gradients of a sequence's queries, keys and values of one key-value head.
pub(super) fn one_head(pass: Pass<'_>, (span, head): (&Span, usize), around: Around<'_>, out: Out<'_>) {
    SCRATCH.with_borrow_mut(
        |Scratch {
             head: sums,
             rows: [left, right],
         }| {
            let config = pass.config;
            let (dim, width) = (config.head_dim, padded(config.head_dim));
            let (q, kv, all) = (config.q_width(), config.kv_width(), config.qkv_width());
            let group = config.num_heads / config.num_kv_heads;
            let token = |token: usize| pass.rows.row_of(span, token);
            let length = span.start + span.len;
            let keys = lay(left, (length, dim), |at| {
                &around.turned[token(at) * (q + kv) + q + head * dim..][..dim]
            });
            let values = lay(right, (length, dim), |at| {
                &around.qkv[token(at) * all + q + kv + head * dim..][..dim]
            });
            // SAFETY: a `Compute` hands out only tiers that the machine has.
            unsafe { sums.load(keys, values) };
            let total = span.len * group;
            let mut positions = [0usize; CHUNK];
            for first in (0..total).step_by(CHUNK) {
                let count = CHUNK.min(total - first);
                let place = |i: usize| {
                    let (token, member) = ((first + i) / group, (first + i) % group);
                    (span.row + token, (head * group + member) * dim)
                };
                for (i, position) in positions[..count].iter_mut().enumerate() {
                    *position = span.start + (first + i) / group;
                }
                let chunk = Chunk {
                    queries: lay(left, (count, dim), |i| {
                        let (row, at) = place(i);
                        &around.turned[row * (q + kv) + at..][..dim]
                    }),
                    grads: lay(right, (count, dim), |i| {
                        let (row, at) = place(i);
                        &around.grad_attended[row * q + at..][..dim]
                    }),
                    positions: &positions[..count],
                    window: pass.window,
                    scale: 1.0 / (dim as f32).sqrt(),
                };
                let stride = sums.stride();
                // SAFETY: as above.
                let gradients = unsafe { sums.backward(&chunk) };
                for (i, gradient) in gradients.chunks(stride).take(count).enumerate() {
                    let (row, at) = place(i);
                    // SAFETY: a query head of a row belongs to one key-value head's task alone.
                    unsafe { out.grad_qkv.slice(row * all + at, dim) }.copy_from_slice(&gradient[..dim]);
                }
            }
            debug_assert!(sums.stride() >= width, "rows are padded");
            let gradients = KeyGradients {
                keys: sums.grad_keys(),
                values: sums.grad_values(),
                stride: sums.stride(),
            };
            write_key_gradients(pass, (span, head), out, gradients);
        },
    );
}

/// Lays rows side by side, padded with zeros.
fn lay<'a, 'r>(buffer: &'a mut Buffer, (count, dim): (usize, usize), row: impl Fn(usize) -> &'r [f32]) -> Rows<'a> {
    let width = padded(dim);
    buffer.resize(count * width);
    for (i, to) in buffer.chunks_exact_mut(width).enumerate() {
        to[..dim].copy_from_slice(row(i));
        to[dim..].fill(0.0);
    }
    Rows {
        values: buffer,
        width,
        count,
    }
}
