//! The folders of Python's `peft`: adapter_config.json and adapter_model.safetensors.
//!
//! The tensors say which projections are adapted. A list of `target_modules` must name the same ones; a pattern is not evaluated. Keys with
//! which `peft` would compute something else are refused by name.

use std::path::Path;

use prl_weights::{ADAPTER_CONFIG_FILE, Adapter as Folder};
use serde_json::{Map, Value, json};

use super::base::check_base;
use super::config::{LoraConfig, LoraTarget};
use super::layout::AdapterLayout;
use crate::config::ModelConfig;
use crate::error::EngineError;
use crate::model::stored::read_tensor;

/// Keys that may only be false, null, empty, or absent.
const MUST_BE_OFF: [&str; 18] = [
    "alora_invocation_tokens",
    "alpha_pattern",
    "arrow_config",
    "exclude_modules",
    "fan_in_fan_out",
    "kasa_config",
    "layer_replication",
    "layers_to_transform",
    "lora_bias",
    "modules_to_save",
    "monteclora_config",
    "rank_pattern",
    "target_parameters",
    "trainable_token_indices",
    "use_bdlora",
    "use_dora",
    "use_qalora",
    "velora_config",
];

/// The adapter in `dir`: its options, its layout and its matrices, widened to f32.
pub(crate) fn read_adapter(
    dir: &Path,
    model: &ModelConfig,
) -> Result<(LoraConfig, AdapterLayout, Vec<f32>), EngineError> {
    let folder = Folder::open(dir)?;
    let path = dir.join(ADAPTER_CONFIG_FILE);
    let raw: Map<String, Value> = serde_json::from_slice(folder.config())
        .map_err(|error| EngineError::Config(format!("{}: {error}", path.display())))?;
    if folder.peft_type() != "LORA" {
        return Err(EngineError::ConfigUnsupported(format!(
            "{}: peft_type is {:?}: the engine computes LORA",
            path.display(),
            folder.peft_type()
        )));
    }
    let config = read_config(&path, &raw, targets(dir, folder.weights().names())?)?;
    config.check(model)?;
    if let Some(base) = raw.get("base_model_name_or_path").and_then(Value::as_str) {
        check_base(&path, base, model)?;
    }
    let layout = AdapterLayout::new(model, &config);
    check_modules(&path, &raw, &layout)?;
    check_tensors(dir, &folder, &layout, (model, config.rank))?;
    let mut flat = vec![0f32; layout.total];
    for slot in &layout.slots {
        let tensor = folder.weights().tensor(&slot.name)?;
        read_tensor(dir, slot, &tensor, &mut flat[slot.range.clone()])?;
    }
    Ok((config, layout, flat))
}

/// Refuses an adapter of which a module that `target_modules` names has no tensors.
fn check_modules(path: &Path, raw: &Map<String, Value>, layout: &AdapterLayout) -> Result<(), EngineError> {
    let modules = raw.get("target_modules").and_then(Value::as_array);
    let mut named = modules.into_iter().flatten().filter_map(Value::as_str);
    // An entry is a module's name or the end of its path.
    let is_adapted = |module: &str| {
        let ends = [format!(".{module}.lora_A.weight"), format!(".{module}.lora_B.weight")];
        layout
            .slots
            .iter()
            .any(|slot| ends.iter().any(|end| slot.name.ends_with(end)))
    };
    match named.find(|module| !is_adapted(module)) {
        Some(module) => Err(EngineError::Weights(format!(
            "{}: target_modules has {module:?}, and no tensor of the adapter belongs to such a module of this model: load it onto the model \
             that it was made for, or save it whole",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Refuses tensors that the model has no place for, or of another shape, and an adapter that lacks some.
fn check_tensors(
    dir: &Path,
    folder: &Folder,
    layout: &AdapterLayout,
    (model, rank): (&ModelConfig, usize),
) -> Result<(), EngineError> {
    let refuse = |what: String| {
        let dir = dir.display();
        Err(EngineError::Weights(format!(
            "{dir}: {what}; load the adapter onto the model that it was made for"
        )))
    };
    let layers = model.num_layers;
    for name in folder.weights().names() {
        if layout.slots.iter().all(|slot| slot.name != name) {
            return refuse(format!(
                "tensor {name} has no place in an adapter of this model, which has {layers} layers"
            ));
        }
    }
    for slot in &layout.slots {
        if !folder.weights().contains(&slot.name) {
            return refuse(format!(
                "tensor {} is missing: the model has {layers} layers, and each has this module",
                slot.name
            ));
        }
        let found = folder.weights().tensor(&slot.name)?.shape.to_vec();
        if found == slot.shape {
            continue;
        }
        let wanted = &slot.shape;
        let at = if slot.name.contains(".lora_A.") { 0 } else { 1 };
        if found.get(at) != Some(&rank) {
            return Err(EngineError::Weights(format!(
                "{}: tensor {} has shape {found:?}, and r = {rank} in {ADAPTER_CONFIG_FILE} asks for {wanted:?}: the two files are not of one \
                 adapter, so copy both anew",
                dir.display(),
                slot.name
            )));
        }
        return refuse(format!(
            "tensor {} has shape {found:?}, and this model asks for {wanted:?}",
            slot.name
        ));
    }
    Ok(())
}

fn read_config(path: &Path, raw: &Map<String, Value>, targets: Vec<LoraTarget>) -> Result<LoraConfig, EngineError> {
    let unsupported = |key: &str, value: &Value| {
        EngineError::ConfigUnsupported(format!(
            "{}: {key} = {value} changes what is computed, and the engine does not implement it",
            path.display()
        ))
    };
    for key in MUST_BE_OFF {
        let is_off = |value: &Value| match value {
            Value::Null | Value::Bool(false) => true,
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        if let Some(value) = raw.get(key).filter(|value| !is_off(value)) {
            return Err(unsupported(key, value));
        }
    }
    if let Some(value) = raw.get("bias").filter(|value| *value != "none") {
        return Err(unsupported("bias", value));
    }
    let number = |key: &str, default: f64| match raw.get(key) {
        None | Some(Value::Null) => Ok(default),
        Some(value) => value
            .as_f64()
            .ok_or_else(|| EngineError::Config(format!("{}: {key} = {value} is no number", path.display()))),
    };
    let rank = number("r", 8.0)?;
    if rank.fract() != 0.0 || rank < 0.0 {
        return Err(EngineError::Config(format!("{}: r is {rank}", path.display())));
    }
    Ok(LoraConfig {
        rank: rank as usize,
        alpha: number("lora_alpha", 8.0)?,
        rslora: raw.get("use_rslora").and_then(Value::as_bool).unwrap_or(false),
        dropout: number("lora_dropout", 0.0)?,
        targets,
    })
}

/// The projections that tensors of these names adapt.
fn targets<'a>(dir: &Path, names: impl Iterator<Item = &'a str>) -> Result<Vec<LoraTarget>, EngineError> {
    let mut targets = Vec::new();
    for name in names {
        let module = name
            .strip_suffix(".lora_A.weight")
            .or_else(|| name.strip_suffix(".lora_B.weight"))
            .and_then(|path| path.rsplit('.').next())
            .ok_or_else(|| {
                EngineError::Weights(format!(
                    "{}: tensor {name} is no lora_A or lora_B matrix of a projection, and the engine computes no others",
                    dir.display()
                ))
            })?;
        let target = LoraTarget::from_name(module).map_err(|error| {
            EngineError::ConfigUnsupported(format!(
                "{}: tensor {name} is of {error}; make the adapter without it",
                dir.display()
            ))
        })?;
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets.sort_unstable();
    Ok(targets)
}

/// The adapter_config.json of an adapter of the model called `base`.
pub(crate) fn to_json(base: &str, config: &LoraConfig) -> Value {
    let targets: Vec<&str> = config.targets.iter().map(|target| target.name()).collect();
    json!({
        "base_model_name_or_path": base,
        "bias": "none",
        "fan_in_fan_out": false,
        "inference_mode": true,
        "init_lora_weights": true,
        "lora_alpha": config.alpha,
        "lora_dropout": config.dropout,
        "peft_type": "LORA",
        "r": config.rank,
        "target_modules": targets,
        "task_type": "CAUSAL_LM",
        "use_dora": false,
        "use_rslora": config.rslora,
    })
}
