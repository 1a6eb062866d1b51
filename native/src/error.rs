//! Errors on their way to JavaScript, thrown, rejected or in an increment: the message is `[PRL_CODE] text`, and only `ts/native/errors.ts`
//! reads it.

use std::error::Error;
use std::{fmt, io};

use prl_engine::EngineError;
use prl_grammar::GrammarError;
use prl_packing::PackError;
use prl_sandbox_client::ClientError;
use prl_transport::TransportError;
use prl_weights::WeightsError;

#[derive(Debug)]
pub(crate) struct NativeError {
    code: &'static str,
    message: String,
}

impl NativeError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// `code`: that of the error, unless the system had no more memory. Then nothing that the error names is at fault.
    fn of(code: &'static str, error: &(dyn Error + 'static)) -> Self {
        let code = if lacks_memory(error) { "PRL_MEMORY" } else { code };
        Self::new(code, with_sources(error))
    }

    /// The same error with the name of the tensor that it is about.
    pub(crate) fn in_tensor(self, name: &str) -> Self {
        Self::new("PRL_WEIGHTS_TENSOR", format!("tensor {name}: {}", self.message))
    }
}

impl From<EngineError> for NativeError {
    fn from(error: EngineError) -> Self {
        Self::of(error.code(), &error)
    }
}

impl From<GrammarError> for NativeError {
    fn from(error: GrammarError) -> Self {
        Self::of(error.code(), &error)
    }
}

impl From<WeightsError> for NativeError {
    fn from(error: WeightsError) -> Self {
        Self::of(error.code(), &error)
    }
}

impl From<PackError> for NativeError {
    fn from(error: PackError) -> Self {
        Self::of(error.code(), &error)
    }
}

impl From<ClientError> for NativeError {
    fn from(error: ClientError) -> Self {
        Self::of(error.code(), &error)
    }
}

impl From<TransportError> for NativeError {
    fn from(error: TransportError) -> Self {
        Self::of(error.code(), &error)
    }
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.code, self.message)
    }
}

impl From<NativeError> for napi::Error {
    fn from(error: NativeError) -> Self {
        Self::from_reason(error.to_string())
    }
}

/// The message of an error, then those messages of its sources that it does not already contain.
fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let message = inner.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        source = inner.source();
    }
    text
}

fn lacks_memory(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::OutOfMemory) {
            return true;
        }
        next = error.source();
    }
    false
}

/// Codes that only this crate raises.
const OWN_CODES: &[&str] = &[
    "PRL_NATIVE_PANIC",
    "PRL_MEMORY",
    "PRL_TOKENIZER",
    "PRL_OPTIM_UNKNOWN",
    "PRL_IO",
];

/// Every code that native code can raise. A test compares them with the sources and with the registry in `ts/errors.ts`.
pub(crate) fn codes() -> Vec<String> {
    let mut codes: Vec<String> = [
        OWN_CODES,
        EngineError::CODES,
        GrammarError::CODES,
        &WeightsError::CODES,
        &PackError::CODES,
        ClientError::CODES,
        &TransportError::CODES,
    ]
    .into_iter()
    .flatten()
    .map(|&code| code.to_owned())
    .collect();
    codes.sort();
    codes.dedup();
    codes
}
