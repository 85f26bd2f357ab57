//! Any engine that is a program: run by a template, read by a declared form of output.

use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use regex::Regex;

use crate::cpu_time::children_s;
use crate::engine::{Engine, EngineError, EngineRun, Request, Span};
use crate::pattern::{OutputForm, last_lines};
use crate::unix_time::now_unix_s;

/// Most output that is kept of a run; the rest is read and dropped, so that nobody blocks.
const MAX_OUTPUT: usize = 4 << 20;
/// How often an engine that has closed its output is asked whether it has ended.
const POLL: Duration = Duration::from_millis(20);

/// A template that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("--engine-command `{template}`: {reason}")]
pub struct TemplateError {
    template: String,
    reason: String,
}

/// An engine behind a command line.
#[derive(Debug)]
pub struct CommandEngine {
    name: String,
    words: Vec<String>,
    form: OutputForm,
}

impl CommandEngine {
    /// An engine from a template with the placeholders `{model}`, `{threads}`, `{prompt}` and
    /// `{tokens}`. It is split as a shell does, before anything is put in: paths may hold spaces.
    ///
    /// # Errors
    /// An empty template, an unclosed quote, an unknown placeholder, or none for the model.
    pub fn new(name: String, template: &str, form: OutputForm) -> Result<Self, TemplateError> {
        let fault = |reason: String| TemplateError { template: template.to_owned(), reason };
        let words =
            shlex::split(template).ok_or_else(|| fault("a quote is not closed".to_owned()))?;
        if words.is_empty() {
            return Err(fault("is empty".to_owned()));
        }
        if words.iter().all(|w| !w.contains("{model}")) {
            return Err(fault("has no {model}: every run would be of the same model".to_owned()));
        }
        let known = ["{model}", "{threads}", "{prompt}", "{tokens}"];
        let placeholder = Regex::new(r"\{\w+\}").map_err(|e| fault(e.to_string()))?;
        if let Some(unknown) =
            placeholder.find_iter(template).find(|m| !known.contains(&m.as_str()))
        {
            let reason = format!("{} is none of {}", unknown.as_str(), known.join(" "));
            return Err(fault(reason));
        }
        Ok(CommandEngine { name, words, form })
    }

    fn command(&self, model: &Path, request: &Request) -> Command {
        let fill = |word: &String| {
            word.replace("{threads}", &request.threads.to_string())
                .replace("{prompt}", &request.prompt_tokens.to_string())
                .replace("{tokens}", &request.generate_tokens.to_string())
                .replace("{model}", &model.to_string_lossy())
        };
        let mut command = Command::new(fill(&self.words[0]));
        command.args(self.words[1..].iter().map(fill));
        command
    }
}

impl Engine for CommandEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> String {
        format!("{} {:?} {:?}", self.name, self.words, self.form)
    }

    fn spans_decode_only(&self) -> bool {
        false
    }

    fn run(&mut self, model: &Path, request: &Request) -> Result<EngineRun, EngineError> {
        let (begin_unix_s, begin, cpu) = (now_unix_s(), Instant::now(), children_s());
        let ended = run_to_end(self.command(model, request), request.timeout)?;
        let span =
            Span { begin_unix_s, wall_s: begin.elapsed().as_secs_f64(), cpu_s: children_s() - cpu };
        if !ended.status.success() {
            return Err(EngineError::Failed {
                status: ended.status.to_string(),
                last_lines: last_lines(&ended.stderr),
            });
        }
        // Many engines report on stderr: both are read, stdout last, since its match counts.
        let output = format!("{}\n{}", ended.stderr, ended.stdout);
        let timing = match &self.form {
            OutputForm::LlamaBench => self.form.read(&ended.stdout, request.prompt_tokens)?,
            OutputForm::Patterns(_) => self.form.read(&output, request.prompt_tokens)?,
        };
        Ok(EngineRun { timing, load_s: None, span })
    }
}

struct Ended {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

fn run_to_end(mut command: Command, timeout: Duration) -> Result<Ended, EngineError> {
    // A group of its own, so that a launcher script's children end with it.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let program = command.get_program().to_string_lossy().into_owned();
    let start = |e: std::io::Error| EngineError::Start { program, reason: e.to_string() };
    let mut child = command.spawn().map_err(start)?;
    let deadline = Instant::now() + timeout;
    let (sender, outputs) = mpsc::channel();
    let pipes = [child.stdout.take().map(boxed), child.stderr.take().map(boxed)];
    for (i, pipe) in pipes.into_iter().enumerate() {
        let sender = sender.clone();
        thread::spawn(move || {
            let text = pipe.map(read_bounded).unwrap_or_default();
            // Nobody listens after a timeout.
            let _ = sender.send((i, text));
        });
    }
    let timed_out = || EngineError::Timeout { seconds: timeout.as_secs() };
    let mut texts = [String::new(), String::new()];
    for _ in 0..texts.len() {
        let left = deadline.saturating_duration_since(Instant::now());
        match outputs.recv_timeout(left) {
            Ok((i, text)) => texts[i] = text,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                end(&mut child);
                return Err(timed_out());
            }
        }
    }
    // Outputs are closed; the process is about to end, or sleeps on without them.
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => thread::sleep(POLL),
            Ok(None) | Err(_) => {
                end(&mut child);
                return Err(timed_out());
            }
        }
    };
    let [stdout, stderr] = texts;
    Ok(Ended { status, stdout, stderr })
}

fn boxed(pipe: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(pipe)
}

/// Ends the child's whole group.
fn end(child: &mut Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn read_bounded(mut pipe: Box<dyn Read + Send>) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0; 8192]);
    while let Ok(n) = pipe.read(&mut buffer) {
        if n == 0 {
            break;
        }
        let room = MAX_OUTPUT - kept.len();
        kept.extend_from_slice(&buffer[..n.min(room)]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(timeout_ms: u64) -> Request {
        Request {
            threads: 2,
            prompt_tokens: 16,
            generate_tokens: 8,
            warm_up_tokens: 0,
            timeout: Duration::from_millis(timeout_ms),
        }
    }

    fn engine(script: &str) -> CommandEngine {
        let form = OutputForm::parse(&[r"(?<tok_per_s>\S+) tok/s".to_owned()]).unwrap();
        let template = format!("sh -c '{script}' {{model}} {{threads}} {{prompt}} {{tokens}}");
        CommandEngine::new("fake".to_owned(), &template, form).unwrap()
    }

    #[test]
    fn placeholders_are_filled_word_by_word() {
        let mut engine = engine(r#"echo "$0 $1 $2 $3" >&2; echo 5 tok/s"#);
        let run = engine.run(Path::new("a b.gguf"), &request(60_000)).unwrap();
        assert_eq!(run.timing.decode_tok_per_s, 5.0);
        let command = engine.command(Path::new("a b.gguf"), &request(1));
        let args: Vec<_> = command.get_args().skip(2).collect();
        assert_eq!(args, ["a b.gguf", "2", "16", "8"]);
    }

    #[test]
    fn failures_garbage_and_hanging_are_told_apart() {
        let run = |script: &str, ms| {
            engine(script).run(Path::new("m"), &request(ms)).unwrap_err().to_string()
        };
        let failed = run("echo out of memory >&2; exit 3", 60_000);
        assert!(failed.contains("exit status: 3") && failed.contains("out of memory"), "{failed}");
        assert!(run("head -c 300 /dev/zero", 60_000).contains("no pattern matches"));
        assert!(run("echo nan tok/s", 60_000).contains("cannot be"));
        assert!(run("echo 0 tok/s", 60_000).contains("cannot be"));
        assert!(run("kill -SEGV $$", 60_000).contains("signal"));
        assert!(run("sleep 600 & sleep 600", 100).contains("was ended after"));
        assert!(run("exec >&- 2>&-; sleep 600", 100).contains("was ended after"));
    }

    #[test]
    fn an_engine_that_is_not_there_is_named() {
        let form = OutputForm::LlamaBench;
        let mut engine = CommandEngine::new("x".into(), "/no/such/bench -m {model}", form).unwrap();
        let error = engine.run(Path::new("m"), &request(1000)).unwrap_err();
        assert!(
            matches!(&error, EngineError::Start { program, .. } if program == "/no/such/bench")
        );
    }

    #[test]
    fn templates_that_cannot_work_are_refused() {
        for (template, message) in [
            ("", "is empty"),
            ("bench 'x", "quote"),
            ("bench -t {threads}", "no {model}"),
            ("bench {model} -t {thread}", "{thread} is none of"),
        ] {
            let error = CommandEngine::new("x".into(), template, OutputForm::LlamaBench);
            assert!(error.unwrap_err().to_string().contains(message));
        }
    }
}
