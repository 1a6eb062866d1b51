//! The files of a model folder beside config and weights: tokenizer, chat template, generation config.
//!
//! A run saves its model many times over days. The folder that it began with may change or disappear meanwhile, because a checkpoint is
//! removed when there is a newer one. So the bytes are kept in memory from the beginning, and every saved folder gets the same ones.

use std::io;
use std::path::Path;

use prl_weights::replace_file;

use crate::error::EngineError;

const TOKENIZER: &str = "tokenizer.json";
/// The names that Hugging Face uses.
const NAMES: [&str; 9] = [
    TOKENIZER,
    "tokenizer_config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
];

/// A folder of named templates, each a file; saved folders and weight versions are flat.
const NAMED_TEMPLATES: &str = "chat_templates";

/// Companion files by their names.
#[derive(Debug, Clone)]
pub(crate) struct Companions {
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Companions {
    /// The companion files in `dir`; there may be none.
    ///
    /// # Errors
    /// [`EngineError::ConfigUnsupported`] for a folder of named chat templates, because a saved model would render conversations in another
    /// way than this one; [`EngineError::Io`].
    pub(crate) fn read(dir: &Path) -> Result<Self, EngineError> {
        if dir.join(NAMED_TEMPLATES).is_dir() {
            return Err(EngineError::ConfigUnsupported(format!(
                "{}: named chat templates cannot be saved with a trained model; write the one to train with to chat_template.jinja and \
                 remove the folder",
                dir.join(NAMED_TEMPLATES).display()
            )));
        }
        let mut files = Vec::new();
        for name in NAMES {
            let path = dir.join(name);
            match std::fs::read(&path) {
                Ok(bytes) => files.push((name, bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(EngineError::Io {
                        action: "read",
                        path,
                        source,
                    });
                }
            }
        }
        Ok(Self { files })
    }

    /// The companion files of the model in `dir`, which must have a tokenizer.
    pub(crate) fn of_model(dir: &Path) -> Result<Self, EngineError> {
        let companions = Self::read(dir)?;
        if companions.files.iter().any(|(name, _)| *name == TOKENIZER) {
            return Ok(companions);
        }
        Err(EngineError::Io {
            action: "read",
            path: dir.join(TOKENIZER),
            source: io::Error::new(
                io::ErrorKind::NotFound,
                "there is none: a saved model would have no tokenizer",
            ),
        })
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<(), EngineError> {
        for (name, bytes) in &self.files {
            replace_file(&dir.join(name), |file| file.write_all(bytes))?;
        }
        Ok(())
    }
}
