//! A fake `/sys` in memory that behaves as kernels do, with injected faults and a trace.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)] // each test file uses a part

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use enerinfer_linux::files::Files;

#[derive(Default)]
struct State {
    nodes: BTreeMap<PathBuf, String>,
    read_errno: BTreeMap<PathBuf, i32>,
    write_errno: BTreeMap<PathBuf, i32>,
    /// Writes that are accepted and do nothing.
    ignored: Vec<PathBuf>,
    /// Frequencies that a clock delivers at most.
    caps: BTreeMap<PathBuf, u64>,
    /// Reads that never return.
    hangs: Vec<PathBuf>,
    /// Writes that still have an effect; without end if `None`.
    writes_left: Option<usize>,
    trace: Vec<(PathBuf, String)>,
}

#[derive(Default)]
pub struct Fake {
    state: Mutex<State>,
}

pub fn sys(path: &str) -> PathBuf {
    Path::new("/sys").join(path)
}

pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sysfs")
}

impl Fake {
    /// The tree of a device in `tests/data/sysfs`.
    pub fn tree(name: &str) -> Arc<Fake> {
        let fake = Fake::default();
        let root = data().join(name);
        fake.load(&root, &root);
        Arc::new(fake)
    }

    fn load(&self, root: &Path, dir: &Path) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.load(root, &path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let node = Path::new("/sys").join(path.strip_prefix(root).unwrap());
            match node.extension().is_some_and(|e| e == "errno") {
                false => drop(self.state.lock().unwrap().nodes.insert(node, text)),
                true => self.fail_read(&node.with_extension(""), errno(text.trim())),
            }
        }
    }

    pub fn set(&self, path: &str, text: &str) {
        self.state.lock().unwrap().nodes.insert(sys(path), text.to_owned());
    }

    pub fn get(&self, path: &str) -> String {
        self.state.lock().unwrap().nodes[&sys(path)].trim().to_owned()
    }

    /// Removes a node or everything below a folder.
    pub fn remove(&self, path: &str) {
        let path = sys(path);
        self.state.lock().unwrap().nodes.retain(|node, _| !node.starts_with(&path));
    }

    pub fn fail_read(&self, path: &Path, errno: i32) {
        let mut state = self.state.lock().unwrap();
        state.nodes.entry(path.to_owned()).or_default();
        state.read_errno.insert(path.to_owned(), errno);
    }

    pub fn fail_write(&self, path: &str, errno: i32) {
        self.state.lock().unwrap().write_errno.insert(sys(path), errno);
    }

    pub fn heal(&self) {
        let mut state = self.state.lock().unwrap();
        state.read_errno.clear();
        state.write_errno.clear();
        state.writes_left = None;
    }

    /// After so many writes more, none has an effect: whoever writes might as well be dead.
    pub fn die_after(&self, writes: usize) {
        self.state.lock().unwrap().writes_left = Some(writes);
    }

    pub fn ignore_writes(&self, path: &str) {
        self.state.lock().unwrap().ignored.push(sys(path));
    }

    /// Caps what `path` (a node of a present frequency) shows.
    pub fn cap(&self, path: &str, value: u64) {
        self.state.lock().unwrap().caps.insert(sys(path), value);
    }

    pub fn hang(&self, path: &str) {
        self.state.lock().unwrap().hangs.push(sys(path));
    }

    pub fn trace(&self) -> Vec<(PathBuf, String)> {
        self.state.lock().unwrap().trace.clone()
    }

    /// Everything that can be read, for comparison.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        let state = self.state.lock().unwrap();
        let nodes = state.nodes.iter().map(|(p, t)| (p.clone(), t.trim().to_owned()));
        // `set_freq` comes and goes with the governor, the present clocks with the load.
        nodes
            .filter(|(p, _)| !p.ends_with("userspace/set_freq"))
            .filter(|(p, _)| !p.ends_with("cur_freq") && !p.ends_with("rate"))
            .collect()
    }
}

pub fn errno(name: &str) -> i32 {
    match name {
        "EAGAIN" => libc::EAGAIN,
        "EIO" => libc::EIO,
        "ENODEV" => libc::ENODEV,
        other => panic!("errno {other} is not known to the fake"),
    }
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

impl State {
    fn number(&self, path: &Path) -> Option<u64> {
        self.nodes.get(path)?.trim().parse().ok()
    }

    fn table(&self, path: &Path) -> Vec<u64> {
        let text = self.nodes.get(path).map(String::as_str).unwrap_or_default();
        text.split_whitespace().filter_map(|w| w.parse().ok()).collect()
    }

    fn set_current(&mut self, path: PathBuf, wanted: u64) {
        if self.nodes.contains_key(&path) {
            let cap = self.caps.get(&path).copied().unwrap_or(u64::MAX);
            self.nodes.insert(path, wanted.min(cap).to_string());
        }
    }

    /// The reaction of a kernel to a write.
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let dir = path.parent().unwrap().to_owned();
        match path.file_name().unwrap().to_str().unwrap() {
            name @ ("min_freq" | "max_freq" | "scaling_min_freq" | "scaling_max_freq") => {
                let prefix = name.strip_suffix("min_freq").or(name.strip_suffix("max_freq"));
                let prefix = prefix.unwrap();
                let bound = |which: &str| dir.join(format!("{prefix}{which}_freq"));
                let value: u64 = text.parse().map_err(|_| invalid())?;
                let mut min = self.number(&bound("min")).unwrap();
                let mut max = self.number(&bound("max")).unwrap();
                *if name.ends_with("min_freq") { &mut min } else { &mut max } = value;
                if min > max {
                    return Err(invalid());
                }
                self.nodes.insert(path.to_owned(), text.to_owned());
                let current =
                    dir.join(if prefix.is_empty() { "cur_freq" } else { "scaling_cur_freq" });
                let now = self.number(&current).unwrap_or(max);
                self.set_current(current, now.clamp(min, max));
            }
            "governor" => {
                let listed = &self.nodes[&dir.join("available_governors")];
                if !listed.split_whitespace().any(|g| g == text) {
                    return Err(invalid());
                }
                self.nodes.insert(path.to_owned(), text.to_owned());
                let set_freq = dir.join("userspace/set_freq");
                if text == "userspace" {
                    self.nodes.insert(set_freq, "undefined".to_owned());
                } else {
                    self.nodes.remove(&set_freq);
                }
            }
            "set_freq" => {
                let wanted: u64 = text.parse().map_err(|_| invalid())?;
                let device = dir.parent().unwrap().to_owned();
                // The kernel takes the next table entry at or above.
                let table = self.table(&device.join("available_frequencies"));
                let snapped = table.iter().copied().filter(|f| *f >= wanted).min();
                let max = self.number(&device.join("max_freq")).unwrap_or(u64::MAX);
                let snapped = snapped.unwrap_or(wanted).min(max);
                self.set_current(device.join("cur_freq"), snapped);
            }
            "rate" => {
                if self.number(&dir.join("mrq_rate_locked")) != Some(0) {
                    let value = text.parse().map_err(|_| invalid())?;
                    self.set_current(path.to_owned(), value);
                }
            }
            _ => drop(self.nodes.insert(path.to_owned(), text.to_owned())),
        }
        Ok(())
    }
}

impl Files for Fake {
    fn read(&self, path: &Path) -> io::Result<String> {
        while self.state.lock().unwrap().hangs.iter().any(|p| p == path) {
            std::thread::sleep(std::time::Duration::from_secs(3_600));
        }
        let state = self.state.lock().unwrap();
        if let Some(errno) = state.read_errno.get(path) {
            return Err(io::Error::from_raw_os_error(*errno));
        }
        let text = state.nodes.get(path).cloned();
        text.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        match &mut state.writes_left {
            Some(0) => return Err(io::Error::from_raw_os_error(libc::EIO)),
            Some(left) => *left -= 1,
            None => {}
        }
        state.trace.push((path.to_owned(), text.to_owned()));
        if let Some(errno) = state.write_errno.get(path) {
            return Err(io::Error::from_raw_os_error(*errno));
        }
        if !state.nodes.contains_key(path) {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        if state.ignored.iter().any(|p| p == path) {
            return Ok(());
        }
        state.write(path, text)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.state.lock().unwrap();
        let mut entries: Vec<PathBuf> = Vec::new();
        for path in state.nodes.keys() {
            if let Ok(rest) = path.strip_prefix(dir)
                && let Some(first) = rest.components().next()
            {
                entries.push(dir.join(first));
            }
        }
        entries.dedup();
        match entries.is_empty() {
            true => Err(io::Error::from_raw_os_error(libc::ENOENT)),
            false => Ok(entries),
        }
    }
}
