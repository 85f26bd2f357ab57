//! How speeds are found in the output of an engine.

use regex::Regex;

use crate::engine::EngineError;
use crate::timing::StageTiming;

/// Groups that a pattern may have, and what they mean.
pub const GROUPS: [(&str, &str); 8] = [
    ("tok_per_s", "decode throughput, tokens/s"),
    ("ms_per_token", "time per decoded token, ms"),
    ("prefill_ms", "time of the whole prefill, ms"),
    ("prefill_tok_per_s", "prefill throughput, tokens/s"),
    ("ttft_ms", "time to first token, ms"),
    ("tokenize_ms", "tokenisation, ms"),
    ("detokenize_ms", "de-tokenisation per token, ms"),
    ("power_w", "power, W"),
];

/// A pattern that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("--pattern `{pattern}`: {reason}")]
pub struct PatternError {
    pattern: String,
    reason: String,
}

/// A declared form of output.
#[derive(Clone, Debug)]
pub enum OutputForm {
    /// Regular expressions with named groups of [`GROUPS`]; of several matches the last counts.
    Patterns(Vec<Regex>),
    /// JSON of llama.cpp's `llama-bench -o json`.
    LlamaBench,
}

impl OutputForm {
    /// Regular expressions, or the single word `llama-bench`.
    ///
    /// # Errors
    /// A pattern that is no regular expression, has an unknown group, or patterns none of which
    /// tells a decode speed.
    pub fn parse(patterns: &[String]) -> Result<Self, PatternError> {
        if patterns == ["llama-bench"] {
            return Ok(OutputForm::LlamaBench);
        }
        let mut out = Vec::new();
        let mut tells_speed = false;
        for pattern in patterns {
            let fault = |reason: String| PatternError { pattern: pattern.clone(), reason };
            let regex = Regex::new(pattern).map_err(|e| fault(e.to_string()))?;
            for group in regex.capture_names().flatten() {
                if GROUPS.iter().all(|(name, _)| *name != group) {
                    let known: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
                    return Err(fault(format!(
                        "group `{group}` is not known; known are {}",
                        known.join(", ")
                    )));
                }
                tells_speed |= matches!(group, "tok_per_s" | "ms_per_token");
            }
            out.push(regex);
        }
        if !tells_speed {
            return Err(PatternError {
                pattern: patterns.join("`, `"),
                reason: "no group tells the decode speed; name one (?<tok_per_s>…) or \
                         (?<ms_per_token>…)"
                    .to_owned(),
            });
        }
        Ok(OutputForm::Patterns(out))
    }

    /// Reads an engine's output.
    ///
    /// # Errors
    /// If it does not tell the decode speed, or tells what cannot be.
    pub fn read(&self, output: &str, prompt_tokens: u32) -> Result<StageTiming, EngineError> {
        let missing = |reason: &str| EngineError::Output {
            reason: reason.to_owned(),
            last_lines: last_lines(output),
        };
        match self {
            OutputForm::Patterns(patterns) => {
                by_patterns(patterns, output, prompt_tokens).map_err(|e| missing(&e))?.check()
            }
            OutputForm::LlamaBench => by_llama_bench(output).map_err(|e| missing(&e))?.check(),
        }
    }
}

fn by_patterns(
    patterns: &[Regex],
    output: &str,
    prompt_tokens: u32,
) -> Result<StageTiming, String> {
    let get = |group: &str| -> Result<Option<f64>, String> {
        let found = patterns.iter().find_map(|p| p.captures_iter(output).last()?.name(group));
        let parse = |text: &str| {
            text.trim()
                .parse::<f64>()
                .map_err(|_| format!("`{text}` of group {group} is no number"))
        };
        found.map(|m| parse(m.as_str())).transpose()
    };
    let seconds = |group: &str| Ok::<_, String>(get(group)?.map(|ms| ms / 1e3));
    let decode_tok_per_s = match (get("tok_per_s")?, get("ms_per_token")?) {
        (Some(speed), _) => speed,
        (None, Some(ms)) => 1e3 / ms,
        (None, None) => return Err("no pattern matches".to_owned()),
    };
    let prefill_s = match (seconds("prefill_ms")?, get("prefill_tok_per_s")?) {
        (None, Some(speed)) => Some(f64::from(prompt_tokens) / speed),
        (told, _) => told,
    };
    Ok(StageTiming {
        tokenization_s: seconds("tokenize_ms")?,
        prefill_s,
        detokenization_s: seconds("detokenize_ms")?,
        decode_tok_per_s,
        told_ttft_s: seconds("ttft_ms")?,
        told_power_w: get("power_w")?,
        ..StageTiming::default()
    })
}

/// One entry of llama-bench's JSON.
#[derive(serde::Deserialize)]
struct Bench {
    n_prompt: u32,
    n_gen: u32,
    avg_ns: f64,
}

fn by_llama_bench(output: &str) -> Result<StageTiming, String> {
    // Engines write notices before and after.
    let (Some(begin), Some(end)) = (output.find('['), output.rfind(']')) else {
        return Err("no JSON array; run llama-bench with -o json".to_owned());
    };
    let json = output.get(begin..=end).unwrap_or_default();
    let entries: Vec<Bench> = serde_json::from_str(json).map_err(|e| e.to_string())?;
    let find = |wanted: fn(&Bench) -> bool| entries.iter().find(|b| wanted(b));
    let Some(decode) = find(|b| b.n_gen > 0 && b.n_prompt == 0) else {
        return Err("no test with n_gen > 0 and n_prompt = 0".to_owned());
    };
    let prefill = find(|b| b.n_prompt > 0 && b.n_gen == 0);
    Ok(StageTiming {
        prefill_s: prefill.map(|b| b.avg_ns / 1e9),
        decode_tok_per_s: f64::from(decode.n_gen) / (decode.avg_ns / 1e9),
        ..StageTiming::default()
    })
}

/// The end of an output, for messages.
pub(crate) fn last_lines(output: &str) -> String {
    const CHARS: usize = 300;
    let text = output.trim_end();
    let skip = text.chars().count().saturating_sub(CHARS);
    let tail: String = text.chars().skip(skip).collect();
    if tail.is_empty() { "(nothing)".to_owned() } else { tail.replace('\n', " | ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(patterns: &[&str]) -> Result<OutputForm, PatternError> {
        OutputForm::parse(&patterns.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn named_groups_are_read_and_the_last_match_counts() {
        let form = form(&[
            r"decode: (?<tok_per_s>\S+) t/s",
            r"prompt (?<prefill_ms>[\d.]+) ms",
            r"(?<power_w>[\d.]+) W",
        ])
        .unwrap();
        let text = "decode: 1.5 t/s\nprompt 20.5 ms\ndecode: 12.5 t/s\n4.5 W";
        let timing = form.read(text, 8).unwrap();
        assert_eq!(timing.decode_tok_per_s, 12.5);
        assert_eq!(timing.prefill_s, Some(0.0205));
        assert_eq!(timing.told_power_w, Some(4.5));
    }

    #[test]
    fn speeds_and_times_are_the_same_thing() {
        let form = form(&["(?<ms_per_token>.+) ms/token, (?<prefill_tok_per_s>.+) t/s"]).unwrap();
        let timing = form.read("80 ms/token, 200 t/s", 10).unwrap();
        assert_eq!((timing.decode_tok_per_s, timing.prefill_s), (12.5, Some(0.05)));
    }

    #[test]
    fn patterns_that_cannot_work_are_refused() {
        for (pattern, message) in [
            ("(", "unclosed"),
            ("(?<speed>.+)", "group `speed` is not known"),
            ("(?<ttft_ms>.+)", "no group tells the decode speed"),
        ] {
            let error = form(&[pattern]).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        assert!(form(&[]).is_err());
    }

    #[test]
    fn garbage_zero_and_nan_are_errors() {
        let form = form(&[r"(?<tok_per_s>\S+) t/s"]).unwrap();
        for (text, message) in [
            ("", "no pattern matches"),
            ("\u{0}\u{fffd} nonsense", "no pattern matches"),
            ("fast t/s", "is no number"),
            ("0 t/s", "cannot be"),
            ("nan t/s", "cannot be"),
            ("inf t/s", "cannot be"),
            ("-3 t/s", "cannot be"),
        ] {
            let error = form.read(text, 1).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn llama_bench_json_is_read_amid_notices() {
        let text = r#"warning: asserts enabled
[ {"n_prompt": 64, "n_gen": 0, "avg_ns": 500000000, "n_threads": 2},
  {"n_prompt": 0, "n_gen": 32, "avg_ns": 2000000000, "n_threads": 2} ]
done"#;
        let timing = form(&["llama-bench"]).unwrap().read(text, 64).unwrap();
        assert_eq!((timing.decode_tok_per_s, timing.prefill_s), (16.0, Some(0.5)));
        for (bad, message) in [
            ("no json", "no JSON array"),
            ("][", "EOF"),
            ("[1]", "invalid type"),
            (r#"[{"n_prompt": 64, "n_gen": 0, "avg_ns": 5}]"#, "no test with n_gen"),
        ] {
            let error = form(&["llama-bench"]).unwrap().read(bad, 64).unwrap_err().to_string();
            assert!(error.contains(message), "{bad}: {error}");
        }
    }
}
