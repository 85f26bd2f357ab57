//! `measure synthesize`: untrained models of sampled shapes, as files that engines load.

mod walk;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use enerinfer_datasets::synthesize::{
    GgufModel, GgufOptions, HuggingFaceModel, Manifest, ManifestEntry, SynthesizeError, Vocabulary,
};
use enerinfer_datasets::{Model, WeightFormat, sampler};
use enerinfer_device::{SimulatedDevice, names};

use walk::Walk;

use crate::failure::Failure;
use crate::output::{self, say};
use crate::values;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  measure synthesize --platform orin --count 300 --out models/
  measure synthesize --platform host_cpu --format q4_0,q8_0 --min-params 30M --max-params 1B \
--count 120 --out models/
  measure synthesize --platform host_cpu --format q4_0 --out models/ \
--one-at-a-time 'llama-bench -m \"$1\" -o jsonl >> runs.jsonl'

models.csv in the folder lists the files with their shapes. A repeated command goes on where it was \
stopped.")]
pub(crate) struct Args {
    /// Platform that the models are for: a built-in device, which gives the default format and
    /// leaves out what does not fit its memory, or any other name
    #[arg(long, value_name = "NAME")]
    platform: String,
    /// Shapes
    #[arg(long, default_value_t = 300)]
    count: usize,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Weight formats; a model has one file of each
    #[arg(long, value_delimiter = ',', value_parser = values::format)]
    format: Vec<WeightFormat>,
    /// Write the layout of Hugging Face (config.json, model.safetensors, F16) instead of GGUF
    #[arg(long, conflicts_with = "format")]
    hf: bool,
    /// Smallest total of parameters, e.g. 70M
    #[arg(long, value_name = "N", default_value_t = *sampler::TOTAL_PARAMS.start(), value_parser = values::param_count)]
    min_params: u64,
    /// Largest total of parameters, e.g. 1.5B
    #[arg(long, value_name = "N", default_value_t = *sampler::TOTAL_PARAMS.end(), value_parser = values::param_count)]
    max_params: u64,
    /// Seed of shapes and weights
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For small disks: after each file run this command in a shell, with the path as $1, then
    /// remove the file and write the next. Files that were there before are used, and stay
    #[arg(long, value_name = "COMMAND")]
    one_at_a_time: Option<String>,
}

/// A model's file, ready to be written.
enum Layout {
    Gguf(GgufModel),
    HuggingFace(HuggingFaceModel),
}

impl Layout {
    fn new(model: &Model, format: WeightFormat, args: &Args) -> Result<Self, SynthesizeError> {
        if args.hf {
            return HuggingFaceModel::new(model, args.seed).map(Layout::HuggingFace);
        }
        let vocabulary = Vocabulary::Dummy;
        let options = GgufOptions { vocabulary, seed: args.seed, ..GgufOptions::default() };
        GgufModel::new(model, format, options).map(Layout::Gguf)
    }

    fn name(&self) -> String {
        match self {
            Layout::Gguf(gguf) => gguf.file_name(),
            Layout::HuggingFace(hf) => hf.folder_name(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Layout::Gguf(gguf) => gguf.file_bytes(),
            Layout::HuggingFace(hf) => hf.weights_bytes(),
        }
    }

    /// Whether a complete file of this length is there; writing is atomic, so length tells.
    fn is_written(&self, path: &Path) -> bool {
        let weights = match self {
            Layout::Gguf(_) => path.to_owned(),
            // Written last.
            Layout::HuggingFace(_) if path.join("config.json").is_file() => {
                path.join("model.safetensors")
            }
            Layout::HuggingFace(_) => return false,
        };
        std::fs::metadata(weights).is_ok_and(|m| m.is_file() && m.len() == self.bytes())
    }

    fn write(&self, path: &Path) -> Result<(), Failure> {
        match self {
            Layout::Gguf(gguf) => gguf.write(path),
            Layout::HuggingFace(hf) => {
                output::folder(path)?;
                hf.write(path)
            }
        }
        .map_err(|e| Failure::Failed(e.to_string()))
    }

    fn remove(&self, path: &Path) -> Result<(), Failure> {
        match self {
            Layout::Gguf(_) => std::fs::remove_file(path),
            Layout::HuggingFace(_) => std::fs::remove_dir_all(path),
        }
        .map_err(|e| Failure::Failed(format!("{}: cannot be removed: {e}", path.display())))
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (models, formats) = chosen(args)?;
    let mut files = Vec::new();
    let mut entries = Vec::new();
    for model in &models {
        for &format in &formats {
            let file =
                Layout::new(model, format, args).map_err(|e| Failure::input(e.to_string()))?;
            let (file_name, bytes) = (file.name(), file.bytes());
            entries.push(ManifestEntry { model: model.clone(), format, file: file_name, bytes });
            files.push(file);
        }
    }
    let manifest = Manifest { seed: args.seed, entries };
    match &args.one_at_a_time {
        Some(command) => {
            output::folder(&args.out)?;
            claim(&args.out, &manifest)?;
            each(args, &files, command)
        }
        None => {
            let missing: Vec<&Layout> =
                files.iter().filter(|f| !f.is_written(&args.out.join(f.name()))).collect();
            require_space(&args.out, &missing)?;
            output::folder(&args.out)?;
            claim(&args.out, &manifest)?;
            all(&args.out, &missing, files.len())
        }
    }
}

/// The models, and the formats that each has a file of.
fn chosen(args: &Args) -> Result<(Vec<Model>, Vec<WeightFormat>), Failure> {
    let range = args.min_params..=args.max_params;
    if range.is_empty() {
        return Err(Failure::input("--min-params is above --max-params"));
    }
    let first = args.format.first().copied();
    let device = match SimulatedDevice::builtin(&args.platform, first) {
        Ok(device) => Some(device),
        // Known, but not in this format: then the model files can be of any.
        Err(_) => SimulatedDevice::builtin(&args.platform, None).ok(),
    };
    let formats = match (&device, args.hf, args.format.is_empty()) {
        (_, true, _) => vec![WeightFormat::F16],
        (_, _, false) => values::each_once(&args.format),
        (Some(device), _, true) => vec![device.platform().format],
        (None, _, true) => {
            return Err(Failure::input(format!(
                "platform `{}` has no default format, give --format; built-in platforms: {}",
                args.platform,
                names().join(", ")
            )));
        }
    };
    let fits = |m: &Model| device.as_ref().is_none_or(|d| d.fits(&m.shape));
    // A smaller sample is the beginning of a larger one: draw until enough of them fit.
    let mut drawn = args.count;
    loop {
        let sampled = sampler::sample_within(range.clone(), drawn, args.seed)
            .map_err(|e| Failure::input(e.to_string()))?;
        let models: Vec<Model> = sampled.into_iter().filter(fits).take(args.count).collect();
        if models.len() == args.count {
            return Ok((models, formats));
        }
        if drawn == sampler::MAX_SAMPLE {
            return Err(Failure::input(format!(
                "only {} of {drawn} shapes fit the memory of {}; lower --max-params or --count",
                models.len(),
                args.platform
            )));
        }
        drawn = (2 * drawn).min(sampler::MAX_SAMPLE);
    }
}

/// Makes the folder this synthesis': it must be empty of manifests, or hold this very one.
fn claim(folder: &Path, manifest: &Manifest) -> Result<(), Failure> {
    let path = folder.join(Manifest::FILE);
    match std::fs::read(&path) {
        Ok(bytes) if bytes == manifest.to_csv().as_bytes() => Ok(()),
        Ok(_) => Err(Failure::input(format!(
            "{}: lists other models; repeat the command that wrote it, or choose another folder",
            path.display()
        ))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Walk::forget(folder)?;
            Ok(manifest.write(folder)?)
        }
        Err(e) => Err(Failure::Failed(format!("{}: {e}", path.display()))),
    }
}

/// Writes the files that are missing of `count`.
fn all(folder: &Path, missing: &[&Layout], count: usize) -> Result<(), Failure> {
    let bytes = total_bytes(missing);
    let mut progress = Progress::new(missing.len(), bytes);
    for file in missing {
        file.write(&folder.join(file.name()))?;
        progress.wrote(file);
    }
    let there = count - missing.len();
    if there > 0 {
        say!("{there} files were there");
    }
    say!(
        "wrote {} files, {:.2} GB{}; {} lists all",
        missing.len(),
        gigabytes(bytes),
        progress.speed(),
        folder.join(Manifest::FILE).display()
    );
    Ok(())
}

fn total_bytes(files: &[&Layout]) -> u64 {
    files.iter().map(|f| f.bytes()).sum()
}

/// Refuses a disk that is too small before anything is written to it.
fn require_space(folder: &Path, files: &[&Layout]) -> Result<(), Failure> {
    let needed = total_bytes(files);
    // The folder itself may not be there yet.
    let absolute = std::path::absolute(folder).unwrap_or(folder.to_owned());
    let there = absolute.ancestors().find(|f| f.is_dir()).unwrap_or(folder);
    let available = fs4::available_space(there)
        .map_err(|e| Failure::Failed(format!("{}: {e}", folder.display())))?;
    if needed <= available {
        return Ok(());
    }
    let mut sum = 0;
    let fit = files.iter().take_while(|f| {
        sum += f.bytes();
        sum <= available
    });
    Err(Failure::Failed(format!(
        "{}: {} files need {:.2} GB and {:.2} GB are free: the first {} fit. Lower --count or \
         --max-params, or measure and remove each file with --one-at-a-time",
        folder.display(),
        files.len(),
        gigabytes(needed),
        gigabytes(available),
        fit.count()
    )))
}

/// Writes each file, has `command` use it, and removes it. What was there before stays, and what an
/// earlier call finished is left out.
fn each(args: &Args, files: &[Layout], command: &str) -> Result<(), Failure> {
    let mut walk = Walk::read(&args.out)?;
    let done = files.iter().filter(|f| walk.is_done(&f.name())).count();
    if done > 0 {
        say!(
            "{done} of {} files were done before; remove {} to begin anew",
            files.len(),
            walk.path().display()
        );
    }
    for (n, file) in files.iter().enumerate() {
        let name = file.name();
        let path = args.out.join(&name);
        if walk.is_done(&name) {
            // Stopped between the two.
            if walk.has_begun(&name) && path.exists() {
                file.remove(&path)?;
            }
            continue;
        }
        if !path.exists() {
            walk.begin(&name)?;
        }
        if !file.is_written(&path) {
            file.write(&path)?;
        }
        say!("{}/{} {} ({:.2} GB)", n + 1, files.len(), path.display(), gigabytes(file.bytes()));
        let status = std::process::Command::new("sh")
            .args(["-c", command, "sh"])
            .arg(&path)
            .status()
            .map_err(|e| Failure::Failed(format!("cannot start sh: {e}")))?;
        if !status.success() {
            return Err(Failure::Failed(format!(
                "the command failed on {} ({status}); the file was kept",
                path.display()
            )));
        }
        walk.finish(&name)?;
        if walk.has_begun(&name) {
            file.remove(&path)?;
        }
    }
    Ok(())
}

/// What is written and what is to come, on stderr.
struct Progress {
    files: usize,
    bytes: u64,
    done_files: usize,
    done_bytes: u64,
    start: Instant,
    said: Instant,
}

impl Progress {
    fn new(files: usize, bytes: u64) -> Self {
        let now = Instant::now();
        Progress { files, bytes, done_files: 0, done_bytes: 0, start: now, said: now }
    }

    fn wrote(&mut self, file: &Layout) {
        self.done_files += 1;
        self.done_bytes += file.bytes();
        // Often for eyes, seldom for log files.
        let terminal = std::io::stderr().is_terminal();
        let pause = Duration::from_secs(if terminal { 1 } else { 15 });
        if self.said.elapsed() < pause || self.done_files == self.files {
            return;
        }
        self.said = Instant::now();
        let rate = self.done_bytes as f64 / self.start.elapsed().as_secs_f64();
        say!(
            "{}/{} files, {:.2} of {:.2} GB{}, {:.0} s left",
            self.done_files,
            self.files,
            gigabytes(self.done_bytes),
            gigabytes(self.bytes),
            self.speed(),
            (self.bytes - self.done_bytes) as f64 / rate
        );
    }

    fn speed(&self) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        match self.done_files {
            0 => String::new(),
            _ => format!(", {:.0} MB/s", self.done_bytes as f64 / 1e6 / seconds),
        }
    }
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}
