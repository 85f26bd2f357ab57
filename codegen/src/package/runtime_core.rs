//! The hand-written files of the runtime crate, copied verbatim into every generated crate.

/// Name below `src/` and text of every file.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("attainable.rs", include_str!("../../runtime/src/attainable.rs")),
    ("coordinator.rs", include_str!("../../runtime/src/coordinator.rs")),
    ("coverage.rs", include_str!("../../runtime/src/coverage.rs")),
    ("driver.rs", include_str!("../../runtime/src/driver.rs")),
    ("energy.rs", include_str!("../../runtime/src/energy.rs")),
    ("feedback.rs", include_str!("../../runtime/src/feedback.rs")),
    ("front.rs", include_str!("../../runtime/src/front.rs")),
    ("grid.rs", include_str!("../../runtime/src/grid.rs")),
    ("hal.rs", include_str!("../../runtime/src/hal.rs")),
    ("lib.rs", include_str!("../../runtime/src/lib.rs")),
    ("predictor.rs", include_str!("../../runtime/src/predictor.rs")),
    ("qoe.rs", include_str!("../../runtime/src/qoe.rs")),
    ("rank.rs", include_str!("../../runtime/src/rank.rs")),
    ("sensor.rs", include_str!("../../runtime/src/sensor.rs")),
    ("shape.rs", include_str!("../../runtime/src/shape.rs")),
    ("tables.rs", include_str!("../../runtime/src/tables.rs")),
    ("temperature.rs", include_str!("../../runtime/src/temperature.rs")),
    ("thermal.rs", include_str!("../../runtime/src/thermal.rs")),
    ("thermal_model.rs", include_str!("../../runtime/src/thermal_model.rs")),
    ("time.rs", include_str!("../../runtime/src/time.rs")),
    ("units.rs", include_str!("../../runtime/src/units.rs")),
    ("votes.rs", include_str!("../../runtime/src/votes.rs")),
    ("window.rs", include_str!("../../runtime/src/window.rs")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/runtime/src");
        let mut on_disk: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".rs"))
            .collect();
        on_disk.sort();
        let listed: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, on_disk);
    }
}
