//! Which experts of a mixture each token went to when it was sampled, so that training can send it the same way (router
//! replay). Columns and samples hold the ids as bytes, as the file does; no number is looked into.

/// The byte that stands where no expert is recorded: an id of all ones, of either width.
pub const NO_EXPERT_BYTE: u8 = u8::MAX;

/// How many experts there can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertWidth {
    /// Ids of one byte, up to 254; 255 means that none is recorded.
    U8,
    /// Ids of two bytes, up to 65534; 65535 means that none is recorded.
    U16,
}

/// What one token's row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpertShape {
    /// Layers with a router.
    pub layers: u32,
    /// Experts that a token goes to in each.
    pub top_k: u32,
    /// Of an id.
    pub width: ExpertWidth,
}

/// Ids, row-major `[T, layers, top_k]`, little endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutedExperts<'a> {
    /// Of each token.
    pub shape: ExpertShape,
    /// T times [`ExpertShape::row_bytes`].
    pub ids: &'a [u8],
}

/// The same, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutedExpertsBuf {
    /// Of each token.
    pub shape: ExpertShape,
    /// T times [`ExpertShape::row_bytes`].
    pub ids: Vec<u8>,
}

impl ExpertWidth {
    /// Of an id.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
        }
    }
}

impl ExpertShape {
    /// Of one token.
    pub fn row_bytes(self) -> usize {
        self.layers as usize * self.top_k as usize * self.width.bytes()
    }
}

impl<'a> RoutedExperts<'a> {
    /// That there is a row for each of `tokens` tokens.
    pub(crate) fn check(&self, tokens: usize) -> Result<(), String> {
        let ExpertShape { layers, top_k, .. } = self.shape;
        let row = self.shape.row_bytes();
        if row == 0 {
            return Err(format!(
                "routed_experts has {layers} layers and {top_k} experts per token"
            ));
        }
        if self.ids.len() != tokens * row {
            let bytes = self.ids.len();
            return Err(format!(
                "routed_experts has {bytes} bytes for {tokens} tokens of {layers} layers and {top_k} experts"
            ));
        }
        Ok(())
    }

    /// Of the first `tokens` tokens.
    pub(crate) fn first(&self, tokens: usize) -> &'a [u8] {
        &self.ids[..tokens * self.shape.row_bytes()]
    }
}

impl RoutedExpertsBuf {
    /// Borrowed.
    pub fn view(&self) -> RoutedExperts<'_> {
        RoutedExperts {
            shape: self.shape,
            ids: &self.ids,
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
