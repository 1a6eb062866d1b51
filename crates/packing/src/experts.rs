//! The experts of a mixture that each token went to when it was sampled, so that training can send it to the same ones (router
//! replay). Columns and samples hold the ids as bytes, as the file does; this crate does not interpret them.

use std::ops::Range;

/// The byte that means that no expert is recorded: an id of either width has all bits set then.
pub const NO_EXPERT_BYTE: u8 = u8::MAX;

/// The width of an id, which bounds the number of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertWidth {
    /// Ids of one byte, up to 254; 255 means that none is recorded.
    U8,
    /// Ids of two bytes, up to 65534; 65535 means that none is recorded.
    U16,
}

/// The shape of one token's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpertShape {
    /// Layers with a router.
    pub layers: u32,
    /// Experts that a token goes to in each layer.
    pub top_k: u32,
    /// Width of an id.
    pub width: ExpertWidth,
}

/// Ids of the experts of T tokens, row-major `[T, layers, top_k]`, little endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutedExperts<'a> {
    /// Shape of each token's row.
    pub shape: ExpertShape,
    /// T times [`ExpertShape::row_bytes`] bytes.
    pub ids: &'a [u8],
}

/// [`RoutedExperts`] that own their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutedExpertsBuf {
    /// Shape of each token's row.
    pub shape: ExpertShape,
    /// T times [`ExpertShape::row_bytes`] bytes.
    pub ids: Vec<u8>,
}

impl ExpertWidth {
    /// Bytes of an id.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
        }
    }
}

impl ExpertShape {
    /// Bytes of one token's row.
    pub fn row_bytes(self) -> usize {
        self.layers as usize * self.top_k as usize * self.width.bytes()
    }
}

impl<'a> RoutedExperts<'a> {
    /// Checks that there is a row for each of `tokens` tokens.
    pub(crate) fn check(&self, tokens: usize) -> Result<(), String> {
        let ExpertShape { layers, top_k, .. } = self.shape;
        let row = (layers as usize)
            .checked_mul(top_k as usize)
            .and_then(|ids| ids.checked_mul(self.shape.width.bytes()));
        let Some(row) = row.filter(|row| *row > 0) else {
            return Err(format!(
                "routed_experts has {layers} layers and {top_k} experts per token"
            ));
        };
        if Some(self.ids.len()) != tokens.checked_mul(row) {
            let bytes = self.ids.len();
            return Err(format!(
                "routed_experts has {bytes} bytes for {tokens} tokens of {layers} layers and {top_k} experts"
            ));
        }
        Ok(())
    }

    /// The rows of the first `tokens` tokens.
    pub(crate) fn first(&self, tokens: usize) -> &'a [u8] {
        &self.ids[..tokens * self.shape.row_bytes()]
    }
}

impl RoutedExpertsBuf {
    /// The ids, borrowed.
    pub fn view(&self) -> RoutedExperts<'_> {
        RoutedExperts {
            shape: self.shape,
            ids: &self.ids,
        }
    }

    /// These rows.
    pub(crate) fn rows(&self, rows: Range<usize>) -> RoutedExperts<'_> {
        let row = self.shape.row_bytes();
        RoutedExperts {
            shape: self.shape,
            ids: &self.ids[rows.start * row..rows.end * row],
        }
    }
}

impl From<RoutedExperts<'_>> for RoutedExpertsBuf {
    fn from(view: RoutedExperts<'_>) -> Self {
        Self {
            shape: view.shape,
            ids: view.ids.to_vec(),
        }
    }
}
