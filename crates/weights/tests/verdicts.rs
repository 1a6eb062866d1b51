//! Our verdict on a file equals that of the reference implementation, or is stricter for a documented reason.

use proptest::prelude::*;
use safetensors::SafeTensors;

/// Our errors for files that the reference accepts; `header.rs` gives the reasons.
const STRICTER: [&str; 6] = [
    "duplicate tensor name",
    "duplicate metadata key",
    "does not begin with '{'",
    "invalid type: sequence, expected an object with dtype",
    "invalid type: sequence, expected a string",
    "invalid type: map, expected a string",
];

fn file(header: impl AsRef<[u8]>, data_len: usize) -> Vec<u8> {
    let header = header.as_ref();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.resize(bytes.len() + data_len, 7);
    bytes
}

/// Compares both verdicts; `Err` describes a disagreement.
fn compare(bytes: &[u8]) -> Result<(), String> {
    // The reference adds unchecked; a panic there is a rejection.
    let reference = std::panic::catch_unwind(|| SafeTensors::deserialize(bytes).map_err(|error| error.to_string()))
        .unwrap_or_else(|_| Err("panic".to_owned()));
    let shown = || String::from_utf8_lossy(&bytes[..bytes.len().min(600)]).into_owned();
    match (reference, prl_weights::parse(bytes)) {
        (Ok(theirs), Ok(ours)) => {
            let mut names: Vec<&str> = theirs.names();
            names.sort_unstable();
            let mut own: Vec<&str> = ours.names().collect();
            own.sort_unstable();
            if names != own {
                return Err(format!("names {names:?} and {own:?} differ"));
            }
            for name in names {
                let (left, right) = (theirs.tensor(name).unwrap(), ours.tensor(bytes, name).unwrap());
                if left.dtype().to_string() != right.dtype.name()
                    || left.shape() != right.shape
                    || left.data() != right.data
                {
                    return Err(format!("tensor {name:?} differs in {}", shown()));
                }
            }
            Ok(())
        }
        (Err(_), Err(_)) => Ok(()),
        (Ok(_), Err(error)) if STRICTER.iter().any(|reason| error.to_string().contains(reason)) => Ok(()),
        (Ok(_), Err(error)) => Err(format!("only we reject {}: {error}", shown())),
        (Err(error), Ok(_)) => Err(format!("only we accept {}: {error}", shown())),
    }
}

fn rejected(bytes: &[u8], reason: &str) {
    let error = prl_weights::parse(bytes).expect_err(reason);
    assert_eq!(error.code(), "PRL_WEIGHTS_FORMAT");
    assert!(
        error.to_string().contains(reason),
        "{error} does not mention {reason:?}"
    );
    if let Err(disagreement) = compare(bytes) {
        panic!("{disagreement}");
    }
}

fn accepted(bytes: &[u8]) {
    prl_weights::parse(bytes).expect("a valid file");
    compare(bytes).expect("agreement");
}

const ONE: &str = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;

#[test]
fn well_formed_files_are_accepted() {
    accepted(&file("{}", 0));
    accepted(&file(ONE, 8));
    accepted(&file(format!("{ONE}   \n"), 8));
    accepted(&file(r#"{"s":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}"#, 8));
    accepted(&file(r#"{"e":{"dtype":"F64","shape":[3,0],"data_offsets":[0,0]}}"#, 0));
    accepted(&file(
        r#"{"__metadata__":{"k":"v"},"a":{"shape":[1],"data_offsets":[0,1],"dtype":"U8"}}"#,
        1,
    ));
    accepted(&file(r#"{"__metadata__":null}"#, 0));
    accepted(&file(
        r#"{"a":{"dtype":"F4","shape":[3,2],"data_offsets":[0,3],"extra":[1,{"x":null}]}}"#,
        3,
    ));
    accepted(&file(
        r#"{"a":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}}"#,
        3,
    ));
    accepted(&file(
        r#"{"b":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
        5,
    ));
}

#[test]
fn every_dtype_has_the_size_of_the_reference() {
    for dtype in prl_weights::Dtype::ALL {
        let header = format!(
            r#"{{"a":{{"dtype":"{dtype}","shape":[8],"data_offsets":[0,{}]}}}}"#,
            dtype.bits()
        );
        accepted(&file(header, dtype.bits()));
    }
}

#[test]
fn truncated_and_overlong_files_are_rejected() {
    let whole = file(ONE, 8);
    for length in 0..8 {
        rejected(&whole[..length], "too few for a header");
    }
    for length in 8..whole.len() - 8 {
        rejected(&whole[..length], "reaches past the end");
    }
    for length in whole.len() - 8..whole.len() {
        rejected(&whole[..length], "truncated");
    }
    rejected(&file(ONE, 9), "too long");
    rejected(&file("{}", 1), "too long");
}

#[test]
fn impossible_header_lengths_are_rejected_without_allocating() {
    for length in [100_000_001, u64::MAX, u64::MAX - 8, 1 << 63] {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend_from_slice(b"{}");
        rejected(&bytes, "is above 100000000");
    }
}

#[test]
fn a_header_at_the_limit_passes_and_one_byte_more_does_not() {
    let mut header = vec![b' '; prl_weights::MAX_HEADER_BYTES];
    header[..2].copy_from_slice(b"{}");
    accepted(&file(&header, 0));
    header.push(b' ');
    rejected(&file(&header, 0), "is above 100000000");
}

#[test]
fn holes_and_overlaps_are_rejected() {
    let two = |first: &str, second: &str| {
        format!(
            r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":{first}}},{}{second}}}}}"#,
            r#""b":{"dtype":"U8","shape":[4],"data_offsets":"#
        )
    };
    accepted(&file(two("[0,4]", "[4,8]"), 8));
    rejected(&file(two("[0,4]", "[5,9]"), 9), "hole");
    rejected(&file(two("[1,5]", "[5,9]"), 9), "hole");
    rejected(&file(two("[0,4]", "[3,7]"), 7), "overlap");
    rejected(&file(two("[0,4]", "[0,4]"), 4), "overlap");
    rejected(&file(two("[0,4]", "[4,0]"), 4), "[4, 0]");
}

#[test]
fn sizes_that_contradict_the_shape_are_rejected() {
    let one = |dtype: &str, shape: &str, end: &str| {
        format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{end}]}}}}"#)
    };
    rejected(&file(one("F32", "[3]", "8"), 8), "needs 12 bytes");
    rejected(&file(one("F4", "[3]", "2"), 2), "no whole number of bytes");
    rejected(&file(one("F6_E3M2", "[1]", "1"), 1), "no whole number of bytes");
    rejected(&file(one("U8", "[4294967296,4294967296]", "0"), 0), "overflows");
    rejected(&file(one("U8", "[4294967296,4294967296,0]", "0"), 0), "overflows");
    rejected(&file(one("F64", "[2305843009213693952]", "0"), 0), "overflows");
    rejected(
        &file(one("U8", "[18446744073709551615]", "18446744073709551615"), 8),
        "overflows",
    );
    rejected(
        &file(one("U8", "[1000000000000000000]", "1000000000000000000"), 8),
        "truncated",
    );
}

#[test]
fn malformed_json_is_rejected() {
    for (header, reason) in [
        ("", "does not begin"),
        (" {}", "does not begin"),
        ("[]", "does not begin"),
        ("null", "does not begin"),
        ("{", "EOF"),
        ("{}x", "trailing characters"),
        ("{}\0", "trailing characters"),
        (r#"{"a":{"dtype":"F32","shape":[0]}}"#, "data_offsets"),
        (
            r#"{"a":{"dtype":"f32","shape":[0],"data_offsets":[0,0]}}"#,
            "unknown dtype",
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}}"#,
            "invalid value",
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[0.0],"data_offsets":[0,0]}}"#,
            "invalid type",
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,0]}}"#,
            "invalid type",
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[0],"data_offsets":[0]}}"#,
            "invalid length",
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0,0]}}"#,
            "trailing characters",
        ),
        (
            r#"{"a":{"dtype":"F32","dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#,
            "duplicate field",
        ),
        (r#"{"__metadata__":{},"__metadata__":{}}"#, "duplicate key"),
        (r#"{"__metadata__":{"k":1}}"#, "invalid type"),
        (r#"{"a":null}"#, "invalid type"),
        (
            r#"{"\ud800":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#,
            "unexpected end of hex escape",
        ),
    ] {
        rejected(&file(header, 0), reason);
    }
    rejected(&file(b"{\"\xff\":1}", 0), "utf-8");
}

#[test]
fn nesting_has_the_limit_of_the_reference() {
    for (depth, passes) in [(100, true), (10_000, false), (1_000_000, false)] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let bytes = file(
            format!(r#"{{"a":{{"dtype":"F32","shape":[0],"data_offsets":[0,0],"x":{nested}}}}}"#),
            0,
        );
        if passes {
            accepted(&bytes)
        } else {
            rejected(&bytes, "recursion limit")
        }
    }
}

#[test]
fn files_that_only_the_reference_accepts_are_refused_by_name() {
    let twice =
        r#"{"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"":{"dtype":"F4","shape":[0],"data_offsets":[0,0]}}"#;
    for (header, reason) in [
        (twice, STRICTER[0]),
        (r#"{"__metadata__":{"k":"v","k":"w"}}"#, STRICTER[1]),
        (" {}", STRICTER[2]),
        (r#"{"a":["U8",[0],[0,0]]}"#, STRICTER[3]),
        (
            r#"{"a":{"dtype":{"U8":null},"shape":[0],"data_offsets":[0,0]}}"#,
            STRICTER[5],
        ),
    ] {
        let bytes = file(header, 0);
        assert!(
            SafeTensors::deserialize(&bytes).is_ok(),
            "the reference accepts {header}"
        );
        rejected(&bytes, reason);
    }
}

// ---- mutated files ----

fn dtypes() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "U8", "BOOL", "F16", "BF16", "F32", "I64", "C64", "F4", "F6_E2M3", "F8_E4M3", "XX",
    ])
}

/// A header that is valid, or nearly.
fn headers() -> impl Strategy<Value = (String, usize)> {
    let tensor = (
        dtypes(),
        prop::collection::vec(0usize..5, 0..4),
        -1i64..2,
        any::<bool>(),
        0u8..16,
    );
    (prop::collection::vec(tensor, 0..5), 0u8..12, any::<u16>()).prop_map(|(tensors, spoil, shuffle)| {
        let mut entries = Vec::new();
        let mut begin = 0i64;
        for (number, (dtype, shape, slip, spoiled, kind)) in tensors.into_iter().enumerate() {
            let bits = prl_weights::Dtype::from_name(dtype).map_or(8, prl_weights::Dtype::bits);
            let bytes = i64::try_from(shape.iter().product::<usize>() * bits / 8).unwrap();
            let end = begin + bytes + if spoiled && kind < 3 { slip } else { 0 };
            let extra = match (spoiled, kind) {
                (true, 3) => r#","note":{"a":[1,2.5e3,"x"]}"#,
                (true, 4) => r#","dtype":"U8""#,
                (true, 5) => r#","shape":[1e2]"#,
                (true, 6) => r#","deep":[[[[[]]]]]"#,
                (true, 7) => r#","huge":1e999"#,
                _ => "",
            };
            let name = if spoiled && kind == 8 {
                "t0".to_owned()
            } else {
                format!("t{number}")
            };
            entries.push(format!(
                r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{end}]{extra}}}"#
            ));
            begin = end;
        }
        if spoil < 4 {
            let text = [r#"{"k":"v"}"#, "null", r#"{"k":"v","k":"v"}"#, r#"{"k":3}"#][usize::from(spoil)];
            entries.push(format!(r#""__metadata__":{text}"#));
        }
        if !entries.is_empty() {
            let at = usize::from(shuffle) % entries.len();
            entries.rotate_left(at);
        }
        let padding = if spoil == 5 { "   " } else { "" };
        let front = if spoil == 6 { " " } else { "" };
        (
            format!("{front}{{{}}}{padding}", entries.join(",")),
            usize::try_from(begin.max(0)).unwrap(),
        )
    })
}

/// One edit of the bytes: position, what to do, with what.
fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    let telling = prop::sample::select(b"{}[]\",:0123456789-.eE \\u\0\xff\x80tfn".to_vec());
    prop::collection::vec(
        (any::<prop::sample::Index>(), 0u8..5, prop_oneof![telling, any::<u8>()]),
        0..4,
    )
}

fn apply(bytes: &mut Vec<u8>, edits: &[(prop::sample::Index, u8, u8)], keep_length: bool) {
    for (index, action, value) in edits {
        if bytes.len() <= 8 {
            return;
        }
        let at = 8 + index.index(bytes.len() - 8);
        match action {
            0 => bytes[at] = *value,
            1 => bytes.insert(at, *value),
            2 => drop(bytes.remove(at)),
            3 => bytes[at] ^= 1 << (value % 8),
            _ if keep_length => bytes.truncate(at),
            _ => bytes[usize::from(value % 8)] ^= 1 << (value % 8),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nearly_valid_headers_get_the_verdict_of_the_reference((header, data_len) in headers(), off in 0usize..8) {
        let data_len = if off == 0 { data_len + 1 } else if off == 1 { data_len.saturating_sub(1) } else { data_len };
        compare(&file(header, data_len)).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn edited_files_get_the_verdict_of_the_reference(
        (header, data_len) in headers(),
        edits in edits(),
        keep_length in any::<bool>(),
    ) {
        let mut bytes = file(header, data_len);
        apply(&mut bytes, &edits, keep_length);
        if keep_length && bytes.len() >= 8 + data_len {
            // Keeps the edit inside the header, so that the JSON decides the verdict.
            let length = (bytes.len() - 8 - data_len) as u64;
            bytes[..8].copy_from_slice(&length.to_le_bytes());
        }
        compare(&bytes).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn arbitrary_bytes_get_the_verdict_of_the_reference(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        compare(&bytes).map_err(TestCaseError::fail)?;
        compare(&file(&bytes, 0)).map_err(TestCaseError::fail)?;
    }
}
