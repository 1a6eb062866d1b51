//! The metadata that files of a rank have: rank, layout and whole shapes.
//!
//! The shapes of a rank's tensors do not show how many ranks there are: without this metadata, the rows of six ranks out of
//! seven would silently become a smaller model.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::TensorShape;
use super::rules::LayoutRules;
use crate::WeightsError;
use crate::checkpoints::Checkpoint;
use crate::files::SafetensorsFile;
use crate::files::write::TensorToWrite;

const RANK: &str = "prl.rank";
const LAYOUT: &str = "prl.layout";
const SHAPES: &str = "prl.shapes";
pub(super) const FOLDER: &str = "rank_";

/// Whole shapes by the names of the tensors.
pub(super) type WholeShapes = BTreeMap<String, Vec<usize>>;

/// The metadata of a file that holds these tensors of `rank`; none for a rank that has everything.
pub(super) fn notes(
    rank: usize,
    rules: &LayoutRules,
    wholes: &[TensorShape],
    tensors: &[TensorToWrite<'_>],
) -> Vec<(String, String)> {
    if rules.ranks == 1 {
        return Vec::new();
    }
    let shapes: BTreeMap<&str, &[usize]> = wholes
        .iter()
        .filter(|whole| tensors.iter().any(|tensor| tensor.name == whole.name))
        .map(|whole| (whole.name.as_str(), whole.shape.as_slice()))
        .collect();
    let shapes = serde_json::to_string(&shapes).expect("names and numbers are JSON");
    vec![
        (RANK.to_owned(), rank.to_string()),
        (LAYOUT.to_owned(), rules.to_string()),
        (SHAPES.to_owned(), shapes),
    ]
}

/// Refuses folders of ranks in `root` beyond those of the layout.
pub(super) fn check_count(root: &Path, rules: &LayoutRules) -> Result<(), WeightsError> {
    if rules.ranks == 1 || !root.exists() {
        return Ok(());
    }
    let mut count = 0;
    for entry in fs::read_dir(root).map_err(WeightsError::io("list", root))? {
        let name = entry.map_err(WeightsError::io("list", root))?.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix(FOLDER)?.parse::<usize>().ok());
        count = count.max(number.map_or(0, |number| number.saturating_add(1)));
    }
    if count <= rules.ranks {
        return Ok(());
    }
    let (last, ranks) = (count - 1, rules.ranks);
    Err(fault(
        root,
        format!("there is a {FOLDER}{last}, but {rules} has {ranks} ranks"),
    ))
}

/// Compares the metadata of the ranks' files with `rules` and returns the whole shapes in them; none when other programs
/// wrote the files.
pub(super) fn check_shares(sources: &[Checkpoint], rules: &LayoutRules) -> Result<WholeShapes, WeightsError> {
    let mut shapes = WholeShapes::new();
    let (mut noted, mut silent) = (None, None);
    for (rank, source) in sources.iter().enumerate() {
        for file in source.files() {
            let Some(share) = Share::of(file)? else {
                silent = Some(file.path());
                continue;
            };
            noted = Some(file.path());
            if share.layout != *rules || share.rank != rank.to_string() {
                let Share { layout, rank: said, .. } = share;
                let asked = match rules.ranks {
                    1 => "read as the whole".to_owned(),
                    _ => format!("read as rank {rank} of {rules}"),
                };
                return Err(fault(
                    file.path(),
                    format!("it holds the share of rank {said} of {layout}, but is {asked}"),
                ));
            }
            shapes.extend(share.shapes);
        }
    }
    match (noted, silent) {
        (Some(_), Some(silent)) => Err(fault(
            silent,
            "it does not say whose share it holds, but other files here do".to_owned(),
        )),
        _ => Ok(shapes),
    }
}

/// Refuses a rank's share in the place of a whole model.
///
/// # Errors
/// [`WeightsError::Plan`] naming the share.
pub(crate) fn refuse_share(weights: &Checkpoint) -> Result<(), WeightsError> {
    for file in weights.files() {
        if let Some(Share { rank, layout, .. }) = Share::of(file)? {
            let reason = format!("it holds the share of rank {rank} of {layout}: join the shares of all ranks first");
            return Err(fault(file.path(), reason));
        }
    }
    Ok(())
}

struct Share {
    rank: String,
    layout: LayoutRules,
    shapes: WholeShapes,
}

impl Share {
    fn of(file: &SafetensorsFile) -> Result<Option<Self>, WeightsError> {
        let metadata = file.metadata();
        let Some(layout) = metadata.get(LAYOUT) else {
            return Ok(None);
        };
        let text = |key: &str| metadata.get(key).map_or("", String::as_str);
        let shapes = serde_json::from_str(text(SHAPES))
            .map_err(|error| fault(file.path(), format!("its {SHAPES} are malformed: {error}")))?;
        Ok(Some(Self {
            rank: text(RANK).to_owned(),
            layout: layout.parse()?,
            shapes,
        }))
    }
}

fn fault(path: &Path, reason: String) -> WeightsError {
    WeightsError::Plan {
        name: path.display().to_string(),
        reason,
    }
}
