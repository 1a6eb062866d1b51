//! One channel for errors, sync and async alike: the message is `[PRL_CODE] text`, read only by `ts/native/errors.ts`.

use prl_engine::EngineError;
use prl_packing::PackError;
use prl_sandbox_client::ClientError;
use prl_transport::TransportError;
use prl_weights::WeightsError;

/// An error on its way to JavaScript.
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

    /// The same error, saying which tensor it is about.
    pub(crate) fn in_tensor(self, name: &str) -> Self {
        Self::new("PRL_WEIGHTS_TENSOR", format!("tensor {name}: {}", self.message))
    }
}

impl From<EngineError> for NativeError {
    fn from(error: EngineError) -> Self {
        Self::new(error.code(), with_sources(&error))
    }
}

impl From<WeightsError> for NativeError {
    fn from(error: WeightsError) -> Self {
        Self::new(error.code(), with_sources(&error))
    }
}

impl From<PackError> for NativeError {
    fn from(error: PackError) -> Self {
        Self::new(error.code(), with_sources(&error))
    }
}

impl From<ClientError> for NativeError {
    fn from(error: ClientError) -> Self {
        Self::new(error.code(), with_sources(&error))
    }
}

impl From<TransportError> for NativeError {
    fn from(error: TransportError) -> Self {
        Self::new(error.code(), with_sources(&error))
    }
}

impl From<NativeError> for napi::Error {
    fn from(error: NativeError) -> Self {
        Self::from_reason(format!("[{}] {}", error.code, error.message))
    }
}

/// The message of an error and those of its sources that it does not already contain.
fn with_sources(error: &dyn std::error::Error) -> String {
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

/// Codes that this border raises by itself.
const OWN_CODES: &[&str] = &["PRL_NATIVE_PANIC", "PRL_TOKENIZER", "PRL_IO"];

/// Every code that can cross the border; a test compares them with the registry in `ts/errors.ts`.
pub(crate) fn codes() -> Vec<String> {
    let mut codes: Vec<String> = [
        OWN_CODES,
        EngineError::CODES,
        &WeightsError::CODES,
        &PackError::CODES,
        ClientError::CODES,
    ]
    .into_iter()
    .flatten()
    .map(|&code| code.to_owned())
    .collect();
    codes.sort();
    codes.dedup();
    codes
}
