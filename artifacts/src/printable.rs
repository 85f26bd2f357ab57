//! Which characters may stand in names and messages.

/// Whether `c` may reach a terminal, a page or source code: no control character, which moves the
/// cursor or is illegal in XML, no line separator, and no mark that reorders or hides the text
/// around it (Unicode TR 36, "Bidirectional text spoofing").
pub fn is_printable(c: char) -> bool {
    !(c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}')
        || matches!(c, '\u{e0000}'..='\u{e007f}'))
}

#[cfg(test)]
mod tests {
    use super::is_printable;

    #[test]
    fn marks_that_reorder_hide_or_break_text_are_not_printable() {
        for c in
            ['\n', '\u{7f}', '\u{85}', '\u{202e}', '\u{2066}', '\u{2028}', '\u{2029}', '\u{200b}']
        {
            assert!(!is_printable(c), "{c:?}");
        }
        assert!("Qwen2-1.5B «é» \\ 通义 \u{a0}🙂".chars().all(is_printable));
    }
}
