//! Attention of a layer: cuts the rows of a pass into tiles of queries that share a key-value head.

use std::cell::RefCell;

use super::cache::{Blocks, BlocksOf, LayerStore};
use super::layer::Pass;
use crate::config::{ModelConfig, WeightDtype};
use crate::isa::Tier;
#[cfg(target_arch = "x86_64")]
use crate::kernels::amx::attend as amx;
use crate::kernels::attention::{Kept, Keys, MOST_ROWS, Tile, padded, row_stride};
use crate::kernels::buffer::{Buffer, Shared};
#[cfg(target_arch = "x86_64")]
use crate::kernels::element::Bf16;
use crate::kernels::transpose::transpose;

/// Query rows of one task: enough that claiming the task costs little beside them, and in tiles that rounding the keys does.
const TASK_ROWS: usize = 64;
const MOST_TASK_ROWS: usize = 128;
/// Tasks are claimed in so many groups per thread.
const GROUPS_PER_THREAD: usize = 16;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

#[derive(Default)]
struct Scratch {
    queries: Buffer,
    weights: Buffer,
    out: Buffer,
    #[cfg(target_arch = "x86_64")]
    tiles: amx::Scratch,
}

/// A stretch of one span's query rows for one key-value head. Rows count token by token, the heads of the group within a token.
struct Unit {
    span: usize,
    head: usize,
    first: usize,
    last: usize,
}

/// Query rows of a tile that suit the tier's registers.
pub(crate) fn tile_rows(tier: Tier, left: usize) -> usize {
    let most = if tier >= Tier::Avx512 { MOST_ROWS } else { MOST_ROWS / 2 };
    match left.min(most) {
        rows @ (1..=4 | 8) => rows,
        _ => 4,
    }
}

/// Whether attention rounds to bfloat16 and multiplies tiles.
pub(crate) fn in_tiles(tier: Tier, config: &ModelConfig) -> bool {
    tier == Tier::Amx && config.dtype == WeightDtype::Bf16
}

/// Attention of every row: queries `turned [N, q_width + kv_width]` over the keys and values in `store`, into `out [N, q_width]`.
pub(crate) fn attend_rows(pass: Pass<'_>, store: &LayerStore, turned: &[f32], out: &mut [f32]) {
    let Pass {
        compute, config, rows, ..
    } = pass;
    let group = config.num_heads / config.num_kv_heads;
    let in_tiles = in_tiles(compute.tier(), config);
    let task_rows = if in_tiles { MOST_TASK_ROWS } else { TASK_ROWS };
    let mut units = Vec::new();
    // Sequences of a group share the blocks of their prompt: a head of them, one sequence after the other, is read from a cache.
    for head in 0..config.num_kv_heads {
        for (at, span) in rows.spans.iter().enumerate() {
            let total = span.len * group;
            for first in (0..total).step_by(task_rows) {
                units.push(Unit {
                    span: at,
                    head,
                    first,
                    last: total.min(first + task_rows),
                });
            }
        }
    }
    let out = Shared::new(out);
    let groups = units.len().min(compute.threads() * GROUPS_PER_THREAD);
    compute.run(groups, |group| {
        let range = units.len() * group / groups..units.len() * (group + 1) / groups;
        SCRATCH.with_borrow_mut(|scratch| {
            for unit in &units[range] {
                match &store.blocks {
                    #[cfg(target_arch = "x86_64")]
                    Blocks::Bf16(blocks) if in_tiles => {
                        attend_unit_in_tiles(pass, (blocks, turned), out, unit, &mut scratch.tiles);
                    }
                    Blocks::F32(blocks) => attend_unit(pass, (blocks, turned), out, unit, scratch),
                    Blocks::Bf16(blocks) => attend_unit(pass, (blocks, turned), out, unit, scratch),
                }
            }
        });
    });
}

/// Attention of a unit, in tiles of bfloat16 numbers.
#[cfg(target_arch = "x86_64")]
fn attend_unit_in_tiles(
    pass: Pass<'_>,
    (blocks, turned): (&BlocksOf<Bf16>, &[f32]),
    out: Shared<'_, f32>,
    unit: &Unit,
    scratch: &mut amx::Scratch,
) {
    let (config, rows) = (pass.config, pass.rows);
    let dim = config.head_dim;
    let group = config.num_heads / config.num_kv_heads;
    let (turned_width, q_width) = (config.q_width() + config.kv_width(), config.q_width());
    let span = &rows.spans[unit.span];
    let place = |i: usize| {
        let (token, member) = ((unit.first + i) / group, (unit.first + i) % group);
        (span.row + token, (unit.head * group + member) * dim)
    };
    let mut positions = [0usize; MOST_TASK_ROWS];
    let positions = &mut positions[..unit.last - unit.first];
    for (i, at) in positions.iter_mut().enumerate() {
        *at = span.start + (unit.first + i) / group;
    }
    let queries = amx::Queries {
        row: |i: usize| {
            let (row, at) = place(i);
            &turned[row * turned_width + at..][..dim]
        },
        positions,
        window: pass.window,
        scale: 1.0 / (dim as f32).sqrt(),
    };
    let keys = keys_of(pass, blocks, unit);
    // SAFETY: a `Compute` hands out only tiers that the machine has.
    let (stride, attended) = unsafe { amx::attend(&queries, &keys, scratch) };
    for (i, attended) in attended.chunks_exact(stride).take(positions.len()).enumerate() {
        let (row, at) = place(i);
        // SAFETY: the row and head belong to this unit alone.
        unsafe { out.slice(row * q_width + at, dim) }.copy_from_slice(&attended[..dim]);
    }
}

/// The keys and values of a unit's head.
fn keys_of<'a, E: Kept>(pass: Pass<'a>, blocks: &'a BlocksOf<E>, unit: &Unit) -> Keys<'a, E> {
    Keys {
        keys: &blocks.keys,
        values: &blocks.values,
        table: &pass.rows.tables[pass.rows.spans[unit.span].table..],
        head_dim: pass.config.head_dim,
        heads: pass.config.num_kv_heads,
        head: unit.head,
    }
}

fn attend_unit<E: Kept>(
    pass: Pass<'_>,
    (blocks, turned): (&BlocksOf<E>, &[f32]),
    out: Shared<'_, f32>,
    unit: &Unit,
    scratch: &mut Scratch,
) {
    let (tier, config, rows) = (pass.compute.tier(), pass.config, pass.rows);
    let (dim, width) = (config.head_dim, padded(config.head_dim));
    let group = config.num_heads / config.num_kv_heads;
    let (turned_width, q_width) = (config.q_width() + config.kv_width(), config.q_width());
    let span = &rows.spans[unit.span];
    let keys = keys_of(pass, blocks, unit);
    let scale = 1.0 / (dim as f32).sqrt();
    let position = |row: usize| span.start + row / group;
    scratch.queries.resize(MOST_ROWS * dim);
    scratch.out.resize(MOST_ROWS * width);
    scratch
        .weights
        .resize(MOST_ROWS * row_stride(position(unit.first), position(unit.last - 1), pass.window));
    let mut positions = [0usize; MOST_ROWS];
    let mut first = unit.first;
    while first < unit.last {
        let count = tile_rows(tier, unit.last - first);
        for (i, at) in positions[..count].iter_mut().enumerate() {
            *at = position(first + i);
        }
        let query = |i: usize| {
            let (token, member) = ((first + i) / group, (first + i) % group);
            &turned[(span.row + token) * turned_width + (unit.head * group + member) * dim..][..dim]
        };
        transpose(tier, count, query, &mut scratch.queries, count);
        let tile = Tile {
            queries: &scratch.queries[..count * dim],
            positions: &positions[..count],
            window: pass.window,
            scale,
        };
        E::attend(tier, &tile, &keys, &mut scratch.weights, &mut scratch.out);
        for i in 0..count {
            let (token, member) = ((first + i) / group, (first + i) % group);
            let head = unit.head * group + member;
            // SAFETY: the row and head belong to this unit alone.
            let row = unsafe { out.slice((span.row + token) * q_width + head * dim, dim) };
            row.copy_from_slice(&scratch.out[i * width..][..dim]);
        }
        first += count;
    }
}
