//! The name of a model on the hub, as a config or a path says it.

use std::path::Path;

/// The name `owner/name` of a model on the hub that a name or the path of a folder in the hub's cache stands for; None for other folders.
pub(crate) fn hub_name(text: &str) -> Option<String> {
    let mut parts = text.split(['/', '\\']);
    if let Some(folder) = parts.find_map(|part| part.strip_prefix("models--")) {
        return (parts.next() == Some("snapshots")).then(|| folder.replacen("--", "/", 1));
    }
    let name = text.split('@').next()?;
    let (owner, name) = name.split_once('/')?;
    let is_word = |word: &str| {
        let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        word.starts_with(|first: char| first.is_ascii_alphanumeric()) && word.bytes().all(is_legal)
    };
    (is_word(owner) && is_word(name) && !Path::new(text).exists()).then(|| format!("{owner}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::hub_name;

    #[test]
    fn names_and_folders_of_the_hubs_cache_stand_for_models_and_other_folders_do_not() {
        for (text, name) in [
            ("Qwen/Qwen3-0.6B", Some("Qwen/Qwen3-0.6B")),
            ("Qwen/Qwen3-0.6B@main", Some("Qwen/Qwen3-0.6B")),
            (
                "/home/a/hub/models--Qwen--Qwen3-0.6B/snapshots/0a1b",
                Some("Qwen/Qwen3-0.6B"),
            ),
            (
                "D:\\hub\\models--Qwen--Qwen3-0.6B\\snapshots\\0a1b\\",
                Some("Qwen/Qwen3-0.6B"),
            ),
            ("models--gpt2/snapshots/0a1b", Some("gpt2")),
            ("/models--Qwen--Qwen3-0.6B/blobs", None),
            ("/models/qwen", None),
            ("./qwen/model", None),
            ("a/b/c", None),
            ("gpt2", None),
            ("", None),
            // It is a folder beside the crate's manifest, where tests run.
            ("src/model", None),
        ] {
            assert_eq!(hub_name(text).as_deref(), name, "{text}");
        }
    }
}
