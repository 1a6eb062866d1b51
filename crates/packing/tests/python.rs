//! Reads a batch file with Python's safetensors, where that is installed, and none of our code. `PRL_TEST_PYTHON` names
//! the interpreter; the default is python3.

use std::process::Command;

use prl_packing::batch_to_file;

mod support;

use support::{metadata, valid_batch};

const READ: &str = r#"
import json, sys
try:
    import numpy
    from safetensors import safe_open
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)
with safe_open(sys.argv[1], "numpy") as file:
    columns = {name: file.get_tensor(name) for name in file.keys()}
    print(json.dumps({
        "metadata": file.metadata(),
        "dtypes": {name: str(column.dtype) for name, column in columns.items()},
        "values": {name: column.tolist() for name, column in columns.items()},
    }))
"#;

#[test]
fn a_batch_file_is_read_by_python() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("batch.safetensors");
    let batch = valid_batch();
    batch_to_file(&path, &batch.view(), &metadata()).unwrap();
    let python = std::env::var_os("PRL_TEST_PYTHON").unwrap_or("python3".into());
    let Ok(output) = Command::new(python).args(["-c", READ]).arg(&path).output() else {
        return; // There is no such interpreter.
    };
    if output.status.code() == Some(77) {
        return; // It lacks safetensors.
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let floats = |column: &[f32]| {
        column
            .iter()
            .map(|&value| f64::from(value))
            .collect::<serde_json::Value>()
    };
    let values = &read["values"];
    assert_eq!(values["input_ids"], serde_json::json!(batch.input_ids));
    assert_eq!(values["inference_logprobs"], floats(&batch.inference_logprobs));
    assert_eq!(values["advantages"], floats(&batch.advantages));
    assert_eq!(values["temperatures"], floats(&batch.temperatures));
    assert_eq!(values["loss_mask"], serde_json::json!(batch.loss_mask));
    assert_eq!(values["cu_seqlens"], serde_json::json!(batch.cu_seqlens));
    assert_eq!(values["env_ids"], serde_json::json!(batch.env_ids));
    assert_eq!(values["bin_seq_offsets"], serde_json::json!(batch.bin_seq_offsets));
    assert_eq!(
        values["policy_version_spans"],
        serde_json::json!(batch.policy_version_spans)
    );
    assert_eq!(
        values["ref_kl_weights"],
        floats(batch.ref_kl_weights.as_deref().unwrap())
    );
    assert_eq!(read["dtypes"]["input_ids"], "uint32");
    assert_eq!(read["dtypes"]["env_ids"], "uint16");
    assert_eq!(read["metadata"]["step"], "5");
    assert_eq!(read["metadata"]["env_names"], r#"["reverse","math \"x\""]"#);
}
