//! The shape of a text: the text without the parts that came from the input.

/// Longest shape in characters.
const MAX_CHARS: usize = 160;

/// The text without numbers and quoted parts, so that two answers of one line of code look the same.
pub fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut quote = None;
    for sign in text.chars() {
        match (quote, sign) {
            (Some(open), _) if open == sign => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`' | '\'') => {
                quote = Some(sign);
                shape.push('"');
            }
            (None, '0'..='9') => {
                if !shape.ends_with('#') {
                    shape.push('#');
                }
            }
            (None, _) => shape.push(sign),
        }
        if shape.len() >= MAX_CHARS {
            break;
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn numbers_and_quoted_parts_do_not_count() {
        assert_eq!(
            shape("tensor \"a\\b\" has 12 bytes"),
            shape("tensor \"c\" has 3456 bytes")
        );
        assert_ne!(shape("tensor \"a\" has 1 byte"), shape("tensor \"a\" lacks 1 byte"));
        assert!(shape(&"x".repeat(10_000)).len() < 200);
    }
}
