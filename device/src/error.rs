//! The error type of this crate.

/// Why a simulated device cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No built-in device has this name.
    #[error("unknown platform `{name}`: {}known are {}", suggestion(.nearest), .known.join(", "))]
    UnknownPlatform {
        /// The name asked for.
        name: String,
        /// The built-in name that differs least, if one is close.
        nearest: Option<&'static str>,
        /// All built-in names.
        known: &'static [&'static str],
    },
    /// The device has no parameters for this weight format.
    #[error("platform `{platform}` has no weight format `{format}`; it has {}", .known.join(", "))]
    UnknownFormat {
        /// The platform.
        platform: String,
        /// The format asked for.
        format: String,
        /// Formats of the platform.
        known: Vec<String>,
    },
    /// A platform file could not be read.
    #[error("{}: cannot be read: {reason}", .path.display())]
    Io {
        /// The file.
        path: std::path::PathBuf,
        /// The system's reason; part of the message, hence no `source` of its own.
        reason: std::io::Error,
    },
    /// Nothing is fitted for this platform.
    #[error("platform `{platform}` has no calibration: nothing published to fit its parameters to")]
    NoRecipe {
        /// The platform.
        platform: String,
    },
    /// A platform file or a table of published figures breaks the syntax or a rule.
    #[error("{file}:{line}: {message}")]
    DataFile {
        /// Display name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The rule and the value.
        message: String,
    },
}

fn suggestion(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default()
}
