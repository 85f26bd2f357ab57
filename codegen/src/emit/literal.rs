//! Lists of numbers, laid out as rustfmt lays them out.

use std::fmt::Display;
use std::io::{self, Write};

/// Line width of rustfmt.
const WIDTH: usize = 100;

/// Writes `head[items];` with as many items per line as fit, where `head` is the text up to the
/// bracket, e.g. `const A: [u32; 3] = `.
pub(crate) fn array(
    out: &mut dyn Write,
    indent: usize,
    head: &str,
    items: &[impl Display],
    tail: &str,
) -> io::Result<()> {
    let pad = " ".repeat(indent);
    let list = items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let one_line = format!("{pad}{head}[{list}]{tail}");
    if one_line.len() <= WIDTH {
        return writeln!(out, "{one_line}");
    }
    let next_line = format!("{pad}    [{list}]{tail}");
    if let Some(assigned) = head.strip_suffix(' ').filter(|head| head.ends_with('='))
        && next_line.len() <= WIDTH
    {
        return writeln!(out, "{pad}{assigned}\n{next_line}");
    }
    writeln!(out, "{pad}{head}[")?;
    let mut line = String::new();
    for (i, item) in items.iter().enumerate() {
        let text = format!("{item},");
        // A space may follow, but not after the last one; inside functions and structs rustfmt keeps
        // its column free all the same.
        let follows = usize::from(i + 1 < items.len() || indent > 0);
        if !line.is_empty() && indent + 4 + line.len() + 1 + text.len() + follows > WIDTH {
            writeln!(out, "{pad}    {line}")?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&text);
    }
    if !line.is_empty() {
        writeln!(out, "{pad}    {line}")?;
    }
    writeln!(out, "{pad}]{tail}")
}

/// Writes `head items tail` on one line if it fits, else every item on a line of its own.
pub(crate) fn items(
    out: &mut dyn Write,
    indent: usize,
    head: &str,
    items: &[String],
    tail: &str,
) -> io::Result<()> {
    let pad = " ".repeat(indent);
    // Braces are padded, brackets are not.
    let space = if head.ends_with('{') { " " } else { "" };
    let one_line = format!("{pad}{head}{space}{}{space}{tail}", items.join(", "));
    if one_line.len() <= WIDTH {
        return writeln!(out, "{one_line}");
    }
    writeln!(out, "{pad}{head}")?;
    for item in items {
        writeln!(out, "{pad}    {item},")?;
    }
    writeln!(out, "{pad}{tail}")
}

/// Writes `pub const NAME: &str = "value";`.
pub(crate) fn string(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    let line = format!("pub const {name}: &str = {value:?};");
    if line.chars().count() <= WIDTH {
        writeln!(out, "{line}")
    } else {
        writeln!(out, "pub const {name}: &str =\n    {value:?};")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(items: &[u64]) -> String {
        let mut out = Vec::new();
        array(&mut out, 0, "static A: [u64; 0] = ", items, ";").unwrap_or_default();
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn lines_are_as_long_as_rustfmt_makes_them() {
        // 23 items of two digits end at column 95.
        let lines = |last: &[u64]| printed(&[&[10; 23], last].concat()).lines().count();
        assert_eq!(lines(&[100]), 3); // column 100
        assert_eq!(lines(&[1000]), 4);
        assert_eq!(lines(&[100, 1]), 4);
    }

    #[test]
    fn inside_functions_the_last_column_stays_free() {
        let lines = |last: &[u64]| {
            let mut out = Vec::new();
            let items = [&[10; 22], last].concat();
            array(&mut out, 4, "let a = ", &items, ";").unwrap_or_default();
            out.iter().filter(|&&byte| byte == b'\n').count()
        };
        assert_eq!(lines(&[10]), 3); // column 99
        assert_eq!(lines(&[100]), 4); // column 100
    }
}
