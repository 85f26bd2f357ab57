//! Token events of an engine: text, one line per event.
//!
//! ```text
//! prefill                a prompt is being processed
//! decode [QOE]           the first token is out
//! token [MICROSECONDS]   a token was generated (stamp of the engine's monotonic clock)
//! qoe QOE                the user's need changed
//! foreground heavy|light the foreground app uses much memory bandwidth, or no longer
//! end                    the request is complete or was cancelled
//! ```
//!
//! `QOE` is in tokens/s, or `reading` (4.8) or `listening` (3.3). Empty lines and lines that begin
//! with `#` are ignored. Without stamps, tokens are timed when their line arrives; if some tokens
//! of a request carry a stamp, all should.

use enerinfer_runtime::qoe;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::units::MicroTokPerS;

/// What an engine reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A prompt is being processed.
    Prefill,
    /// The first token is out; `None`: the QoE is the one set before.
    Decode(Option<MicroTokPerS>),
    /// A token was generated.
    Token(Option<Micros>),
    /// The user's need changed.
    Qoe(MicroTokPerS),
    /// Whether the foreground app uses much memory bandwidth.
    Foreground {
        /// It does.
        heavy: bool,
    },
    /// The request is complete.
    End,
}

/// Why a line is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The first word is none of ours.
    #[error("unknown event {0:?}; known are prefill, decode, token, qoe, foreground, end")]
    Unknown(String),
    /// A word is missing, superfluous or not understood.
    #[error("{event}: {message}")]
    Argument {
        /// The event.
        event: &'static str,
        /// What is wrong.
        message: String,
    },
}

/// Parses a line; `None` for an empty line or a comment.
pub fn parse(line: &str) -> Result<Option<Event>, ParseError> {
    let mut words = line.split_whitespace();
    let Some(name) = words.next().filter(|name| !name.starts_with('#')) else {
        return Ok(None);
    };
    let argument = words.next();
    if let Some(more) = words.next() {
        return Err(ParseError::Argument {
            event: "event",
            message: format!("too much: {more:?}"),
        });
    }
    let event = match (name, argument) {
        ("prefill", None) => Event::Prefill,
        ("decode", None) => Event::Decode(None),
        ("decode", Some(word)) => Event::Decode(Some(parse_qoe("decode", word)?)),
        ("token", None) => Event::Token(None),
        ("token", Some(word)) => {
            Event::Token(Some(word.parse().map(Micros).map_err(|_| ParseError::Argument {
                event: "token",
                message: format!("{word:?} is not a whole number of microseconds"),
            })?))
        }
        ("qoe", Some(word)) => Event::Qoe(parse_qoe("qoe", word)?),
        ("foreground", Some("heavy")) => Event::Foreground { heavy: true },
        ("foreground", Some("light")) => Event::Foreground { heavy: false },
        ("end", None) => Event::End,
        ("prefill" | "end", Some(word)) => {
            return Err(ParseError::Argument {
                event: "event",
                message: format!("too much: {word:?}"),
            });
        }
        ("qoe", None) => {
            return Err(ParseError::Argument {
                event: "qoe",
                message: "tokens/s missing".to_owned(),
            });
        }
        ("foreground", _) => {
            return Err(ParseError::Argument {
                event: "foreground",
                message: "heavy or light expected".to_owned(),
            });
        }
        _ => return Err(ParseError::Unknown(name.chars().take(40).collect())),
    };
    Ok(Some(event))
}

/// Parses a QoE: tokens/s, `reading` or `listening`.
pub fn parse_qoe(event: &'static str, word: &str) -> Result<MicroTokPerS, ParseError> {
    match word {
        "reading" => return Ok(qoe::READING),
        "listening" => return Ok(qoe::LISTENING),
        _ => {}
    }
    let value: Option<f64> = word.parse().ok();
    match value.filter(|v| *v > 0.0 && *v < 4_294.0) {
        // In range: at most 4294 · 10⁶.
        Some(tok_per_s) => Ok(MicroTokPerS((tok_per_s * 1e6).round() as u32)),
        None => Err(ParseError::Argument {
            event,
            message: format!(
                "{word:?} is not a speed; give tokens/s between 0 and 4294, reading or listening"
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_events() {
        for (line, event) in [
            ("prefill\n", Event::Prefill),
            ("decode", Event::Decode(None)),
            ("decode reading", Event::Decode(Some(qoe::READING))),
            ("  decode   5.5 ", Event::Decode(Some(MicroTokPerS(5_500_000)))),
            ("token", Event::Token(None)),
            ("token 123", Event::Token(Some(Micros(123)))),
            ("qoe listening", Event::Qoe(qoe::LISTENING)),
            ("foreground heavy", Event::Foreground { heavy: true }),
            ("foreground light", Event::Foreground { heavy: false }),
            ("end", Event::End),
        ] {
            assert_eq!(parse(line), Ok(Some(event)), "{line}");
        }
        assert_eq!(parse(""), Ok(None));
        assert_eq!(parse("# note"), Ok(None));
    }

    #[test]
    fn other_lines_are_errors() {
        for line in [
            "tokens",
            "token x",
            "token -1",
            "token 1 2",
            "qoe",
            "qoe nan",
            "qoe inf",
            "qoe -1",
            "qoe 0",
            "decode 5000",
            "foreground",
            "foreground huge",
            "end now",
            "prefill 3",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
