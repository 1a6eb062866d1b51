//! Folders of ranks, rewritten for other ranks and back.

use std::fs;
use std::path::Path;

use prl_weights::{
    Checkpoint, Dtype, LayoutRules, PublisherOptions, TensorToWrite, WeightPublisher, WeightsError, digest_file,
    rank_directory, reshard_folders, write_checkpoint,
};
use proptest::prelude::*;
use tempfile::TempDir;

const ANY: u64 = u64::MAX;

fn rules(text: &str) -> LayoutRules {
    text.parse().unwrap()
}

/// A model of two layers with the names that tensor parallelism knows, and a tensor of odd length.
fn model(directory: &Path) -> String {
    let shapes: &[(&str, &[usize])] = &[
        ("model.embed_tokens.weight", &[16, 6]),
        ("model.layers.0.self_attn.q_proj.weight", &[8, 6]),
        ("model.layers.0.self_attn.q_proj.bias", &[8]),
        ("model.layers.0.self_attn.o_proj.weight", &[6, 8]),
        ("model.layers.0.mlp.down_proj.weight", &[6, 12]),
        ("model.layers.0.input_layernorm.weight", &[7]),
        ("scale", &[]),
    ];
    let data: Vec<Vec<u8>> = shapes
        .iter()
        .enumerate()
        .map(|(number, (_, shape))| {
            let bytes = shape.iter().product::<usize>() * 2;
            (0..bytes).map(|byte| (byte * 7 + number * 31) as u8).collect()
        })
        .collect();
    let tensors: Vec<_> = shapes
        .iter()
        .zip(&data)
        .map(|((name, shape), data)| TensorToWrite {
            name,
            dtype: Dtype::BF16,
            shape,
            data,
        })
        .collect();
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("config.json"), "{}").unwrap();
    write_checkpoint(directory, &tensors, 256).unwrap().digest
}

#[test]
fn rows_of_trainers_become_shares_of_engines_and_the_whole_again() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    let digest = model(&path("whole"));
    let (whole, fsdp, tp) = (rules("whole"), rules("fsdp:3"), rules("tp:2"));
    let cut = reshard_folders(&path("whole"), &whole, &path("fsdp"), &fsdp, ANY).unwrap();
    let embedding: usize = 16 * 6 * 2;
    // The scalar goes to all three.
    assert_eq!(cut.written_bytes, cut.sent_bytes + 2 * 2);
    assert_eq!(cut.ranks.len(), 3);
    reshard_folders(&path("fsdp"), &fsdp, &path("tp"), &tp, ANY).unwrap();
    let second = Checkpoint::open(&path("tp/rank_1")).unwrap();
    let part = second.tensor("model.embed_tokens.weight").unwrap();
    assert_eq!(part.shape, [8, 6]);
    let original = Checkpoint::open(&path("whole")).unwrap();
    let all = original.tensor("model.embed_tokens.weight").unwrap();
    assert_eq!(part.data, &all.data[embedding / 2..]);
    // Columns 4 to 8 of every row.
    let part = second.tensor("model.layers.0.self_attn.o_proj.weight").unwrap();
    let all = original.tensor("model.layers.0.self_attn.o_proj.weight").unwrap();
    let expected: Vec<u8> = all.data.chunks(16).flat_map(|row| &row[8..]).copied().collect();
    assert_eq!((part.shape, part.data), (&[6, 4][..], &expected[..]));
    assert_eq!(
        second.tensor("model.layers.0.input_layernorm.weight").unwrap().shape,
        [7]
    );
    assert!(path("tp/rank_1/config.json").is_file());
    let back = reshard_folders(&path("tp"), &tp, &path("back"), &whole, 256).unwrap();
    assert_eq!(back.ranks[0].digest, digest);
    assert_eq!(
        back.ranks[0].shards.len(),
        Checkpoint::open(&path("back")).unwrap().files().len()
    );
    let shard = &back.ranks[0].shards[0];
    assert_eq!(digest_file(&path("back").join(&shard.file)).unwrap().0, shard.digest);
}

#[test]
fn folders_that_are_rewritten_in_place_keep_their_other_files() {
    let dir = TempDir::new().unwrap();
    let (whole, ranks) = (dir.path().join("whole"), dir.path().join("ranks"));
    let digest = model(&whole);
    let (one, fsdp, tp) = (rules("whole"), rules("fsdp:2"), rules("tp:2"));
    reshard_folders(&whole, &one, &ranks, &fsdp, ANY).unwrap();
    reshard_folders(&ranks, &fsdp, &ranks, &tp, ANY).unwrap();
    for rank in ["rank_0", "rank_1"] {
        assert_eq!(fs::read_to_string(ranks.join(rank).join("config.json")).unwrap(), "{}");
    }
    let back = reshard_folders(&ranks, &tp, &dir.path().join("back"), &one, ANY).unwrap();
    assert_eq!(back.ranks[0].digest, digest);
}

#[test]
fn a_file_that_is_a_link_to_its_source_is_replaced_and_the_source_stays() {
    let dir = TempDir::new().unwrap();
    let (from, to) = (dir.path().join("whole"), dir.path().join("fsdp"));
    model(&from);
    let linked = to.join("rank_0").join("config.json");
    fs::create_dir_all(to.join("rank_0")).unwrap();
    std::os::unix::fs::symlink(from.join("config.json"), &linked).unwrap();
    reshard_folders(&from, &rules("whole"), &to, &rules("fsdp:2"), ANY).unwrap();
    for file in [from.join("config.json"), linked] {
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}", "{}", file.display());
    }
}

#[test]
fn experts_live_on_one_rank_each() {
    let dir = TempDir::new().unwrap();
    let (whole, to) = (dir.path().join("whole"), dir.path().join("to"));
    let names: Vec<String> = (0..4)
        .map(|expert| format!("mlp.experts.{expert}.up_proj.weight"))
        .collect();
    let data = [1u8, 2, 3, 4];
    let tensors: Vec<_> = names
        .iter()
        .zip(&data)
        .map(|(name, byte)| TensorToWrite {
            name,
            dtype: Dtype::U8,
            shape: &[1],
            data: std::slice::from_ref(byte),
        })
        .collect();
    fs::create_dir(&whole).unwrap();
    let written = write_checkpoint(&whole, &tensors, ANY).unwrap();
    let experts = rules(r#"{"ranks": 2, "rules": [{"tensors": "*.experts.*", "cut": "experts"}]}"#);
    reshard_folders(&whole, &rules("whole"), &to, &experts, ANY).unwrap();
    let second = Checkpoint::open(&rank_directory(&to, &experts, 1)).unwrap();
    assert_eq!(second.names().collect::<Vec<_>>(), [&names[2], &names[3]]);
    assert_eq!(second.tensor(&names[3]).unwrap().data, [4]);
    let back = reshard_folders(&to, &experts, &dir.path().join("back"), &rules("whole"), ANY).unwrap();
    assert_eq!(back.ranks[0].digest, written.digest);
}

#[test]
fn folders_that_do_not_fit_are_named() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    model(&path("whole"));
    let whole = rules("whole");
    let code = |outcome: Result<_, WeightsError>| outcome.map(|_: prl_weights::Resharded| ()).unwrap_err().code();
    let uneven = reshard_folders(&path("whole"), &whole, &path("tp"), &rules("tp:5"), ANY);
    assert_eq!(code(uneven), "PRL_WEIGHTS_PLAN");
    let unfit = rules(r#"{"ranks": 2, "rules": [{"tensors": "model.*", "cut": {"split": 0}}]}"#);
    let outcome = reshard_folders(&path("whole"), &whole, &path("other"), &unfit, ANY);
    assert!(outcome.unwrap_err().to_string().contains("scale"));
    let fsdp = rules("fsdp:2");
    reshard_folders(&path("whole"), &whole, &path("fsdp"), &fsdp, ANY).unwrap();
    let as_columns = reshard_folders(&path("fsdp"), &rules("tp:2"), &path("wrong"), &whole, ANY);
    assert_eq!(code(as_columns), "PRL_WEIGHTS_PLAN");
    for (layout, what) in [("fsdp:3", "rank 0 of fsdp:2"), ("tp:2", "rank 0 of fsdp:2")] {
        let error = reshard_folders(&path("fsdp"), &rules(layout), &path("wrong"), &whole, ANY).err();
        // The third of three ranks is missing.
        let text = error.unwrap().to_string();
        assert!(text.contains(what) || text.contains("rank_2"), "{layout}: {text}");
    }
    fs::remove_dir_all(path("fsdp/rank_1")).unwrap();
    assert_eq!(
        code(reshard_folders(&path("fsdp"), &fsdp, &path("gone"), &whole, ANY)),
        "PRL_WEIGHTS_IO"
    );
    for text in [
        "",
        "tp",
        "tp:0",
        "tp:x",
        "{}",
        "{\"ranks\": 0, \"rules\": []}",
        "rows:2",
    ] {
        assert_eq!(
            text.parse::<LayoutRules>().unwrap_err().code(),
            "PRL_WEIGHTS_PLAN",
            "{text}"
        );
    }
}

#[test]
fn ranks_know_which_share_they_hold_so_that_none_is_left_out() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    let digest = model(&path("whole"));
    let (whole, seven) = (rules("whole"), rules("fsdp:7"));
    reshard_folders(&path("whole"), &whole, &path("seven"), &seven, 64).unwrap();
    let refusal = |from: &str, layout: &str| {
        let error = reshard_folders(&path(from), &rules(layout), &path("out"), &whole, ANY).unwrap_err();
        assert_eq!(error.code(), "PRL_WEIGHTS_PLAN", "{error}");
        assert!(!path("out").exists(), "nothing is written");
        error.to_string()
    };
    let text = refusal("seven", "fsdp:6");
    assert!(text.contains("there is a rank_6, but fsdp:6 has 6 ranks"), "{text}");
    // Once the last folder is gone, the number of folders does not show it; the files do.
    fs::rename(path("seven/rank_6"), path("rank_6")).unwrap();
    let text = refusal("seven", "fsdp:6");
    assert!(
        text.contains("rank 0 of fsdp:7, but is read as rank 0 of fsdp:6"),
        "{text}"
    );
    fs::rename(path("rank_6"), path("seven/rank_6")).unwrap();
    let text = refusal("seven", "tp:7");
    assert!(
        text.contains("rank 0 of fsdp:7, but is read as rank 0 of tp:7"),
        "{text}"
    );
    let text = refusal("seven/rank_2", "whole");
    assert!(text.contains("rank 2 of fsdp:7, but is read as the whole"), "{text}");
    // Two ranks changed places.
    let swap = || {
        for (from, to) in [("rank_0", "other"), ("rank_3", "rank_0"), ("other", "rank_3")] {
            fs::rename(path("seven").join(from), path("seven").join(to)).unwrap();
        }
    };
    swap();
    let text = refusal("seven", "fsdp:7");
    assert!(
        text.contains("rank 3 of fsdp:7, but is read as rank 0 of fsdp:7"),
        "{text}"
    );
    swap();
    // A layout by rules is compared as a whole, however it is written.
    let by_rules = rules(r#"{"rules": [{"cut": {"split": 0}, "tensors": "*"}], "ranks": 7}"#);
    let back = reshard_folders(&path("seven"), &by_rules, &path("back"), &whole, ANY).unwrap();
    assert_eq!(back.ranks[0].digest, digest);
    // Folders of a layout with more ranks must not stay beside those of one with fewer.
    let error = reshard_folders(&path("whole"), &whole, &path("seven"), &rules("fsdp:3"), ANY).unwrap_err();
    assert!(error.to_string().contains("rank_6"), "{error}");
    let published = WeightPublisher::open(
        &path("root"),
        PublisherOptions {
            keep: 1,
            sparse: false,
            threads: 1,
        },
    )
    .unwrap()
    .publish_folder(1, &path("seven/rank_0"), None, true)
    .unwrap_err();
    assert!(published.to_string().contains("rank 0 of fsdp:7"), "{published}");
}

#[test]
fn the_files_of_a_rank_name_its_layout_and_the_whole_shapes_and_others_need_not() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    let digest = model(&path("whole"));
    let (whole, fsdp) = (rules("whole"), rules("fsdp:2"));
    reshard_folders(&path("whole"), &whole, &path("fsdp"), &fsdp, ANY).unwrap();
    // Any reader of the format must see the same.
    let bytes = fs::read(path("fsdp/rank_1/model.safetensors")).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let notes = header.metadata().as_ref().unwrap();
    assert_eq!(
        (&*notes["format"], &*notes["prl.rank"], &*notes["prl.layout"]),
        ("pt", "1", "fsdp:2")
    );
    let shapes: serde_json::Value = serde_json::from_str(&notes["prl.shapes"]).unwrap();
    assert_eq!(shapes["model.layers.0.input_layernorm.weight"], serde_json::json!([7]));
    assert_eq!(shapes["scale"], serde_json::json!([]));
    let back = reshard_folders(&path("fsdp"), &fsdp, &path("back"), &whole, ANY).unwrap();
    let bytes = fs::read(path("back/model.safetensors")).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(
        header.metadata().as_ref().unwrap().len(),
        1,
        "a whole model is no rank's share"
    );
    assert_eq!(back.ranks[0].digest, digest);
    // Files that a trainer's ranks wrote have no such metadata.
    for rank in ["rank_0", "rank_1"] {
        let folder = path("fsdp").join(rank);
        let tensors = Checkpoint::open(&folder).unwrap();
        let plain: Vec<_> = tensors
            .names()
            .map(|name| {
                let view = tensors.tensor(name).unwrap();
                TensorToWrite {
                    name,
                    dtype: view.dtype,
                    shape: view.shape,
                    data: view.data,
                }
            })
            .collect();
        fs::create_dir_all(path("plain").join(rank)).unwrap();
        write_checkpoint(&path("plain").join(rank), &plain, ANY).unwrap();
    }
    let back = reshard_folders(&path("plain"), &fsdp, &path("again"), &whole, ANY).unwrap();
    assert_eq!(back.ranks[0].digest, digest);
    fs::remove_dir_all(path("plain/rank_0")).unwrap();
    fs::rename(path("fsdp/rank_0"), path("plain/rank_0")).unwrap();
    let error = reshard_folders(&path("plain"), &fsdp, &path("mixed"), &whole, ANY).unwrap_err();
    assert!(error.to_string().contains("does not say whose share"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if std::env::var_os("PRL_TEST_LONG").is_some() { 400 } else { 24 }, ..ProptestConfig::default() })]

    #[test]
    fn any_way_leads_back_to_the_same_weights(first in 1usize..9, second in 1usize..9) {
        let dir = TempDir::new().unwrap();
        let digest = model(&dir.path().join("whole"));
        let (one, other) = (rules(&format!("fsdp:{first}")), rules(&format!("fsdp:{second}")));
        let path = |name: &str| dir.path().join(name);
        reshard_folders(&path("whole"), &rules("whole"), &path("one"), &one, ANY).unwrap();
        reshard_folders(&path("one"), &one, &path("other"), &other, ANY).unwrap();
        let back = reshard_folders(&path("other"), &other, &path("back"), &rules("whole"), ANY).unwrap();
        prop_assert_eq!(&back.ranks[0].digest, &digest);
    }
}
