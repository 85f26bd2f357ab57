//! The zone of a log from the times of its prompts.

use crate::{Error, Prompt, Row, SampleReader, Stamp, Zone};

const NS: i64 = 1_000_000_000;
/// Samples this close belong to one stretch of the log.
const STRETCH_NS: i64 = 60 * NS;
/// Offsets in use are multiples of a quarter of an hour, from −12:00 to +14:00.
const STEP_S: i64 = 900;
const RANGE_S: std::ops::RangeInclusive<i64> = -12 * 3600..=14 * 3600;
/// Part of the prompts' time that the log must cover.
const COVERED: f64 = 0.9;

/// An inferred zone and how well it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneFit {
    /// The zone: a fixed offset, or UTC when the log says so itself.
    pub zone: Zone,
    /// Part of the prompts' time that lies inside the log, 0 to 1.
    pub covered: f64,
}

/// Infers the offset at which the log covers the prompts, in one pass over the log.
///
/// # Errors
/// No offset covers them (another run's log), or several do (the log is much longer than the run):
/// then the zone must be given.
pub fn infer_zone(prompts: &[Prompt], log: &mut dyn SampleReader) -> Result<ZoneFit, Error> {
    let stretches = stretches(log)?;
    let Some(stretches) = stretches else {
        return Ok(ZoneFit { zone: Zone::fixed(0)?, covered: 1.0 });
    };
    let total: i64 = prompts.iter().map(|p| p.end_ns - p.start_ns).sum();
    if stretches.is_empty() || total == 0 {
        return Err(Error::invalid("no prompt or no timed sample: a zone cannot be inferred"));
    }
    let mut fits: Vec<(f64, i64)> = RANGE_S
        .step_by(STEP_S as usize)
        .map(|offset| {
            let inside: i64 = prompts.iter().map(|p| overlap(p, &stretches, offset * NS)).sum();
            (inside as f64 / total as f64, offset)
        })
        .filter(|(covered, _)| *covered >= COVERED)
        .collect();
    // Equal cover: whole hours first, they are the usual offsets.
    fits.sort_by(|a, b| {
        b.0.total_cmp(&a.0).then((a.1 % 3600 != 0).cmp(&(b.1 % 3600 != 0))).then(a.1.cmp(&b.1))
    });
    let Some(&(covered, offset)) = fits.first() else {
        return Err(Error::invalid(
            "at no UTC offset does the log cover the prompts: it belongs to another run, or a \
             clock was wrong",
        ));
    };
    let rivals: Vec<String> = fits
        .iter()
        .filter(|(c, o)| covered - c < 0.01 && (o % 3600 == 0 || offset % 3600 != 0))
        .map(|(_, o)| Zone::fixed(*o as i32).map(|z| z.name()))
        .collect::<Result<_, _>>()?;
    if rivals.len() > 1 {
        return Err(Error::invalid(format!(
            "the log fits the prompts at several UTC offsets ({}): give the zone",
            rivals.join(", ")
        )));
    }
    Ok(ZoneFit { zone: Zone::fixed(offset as i32)?, covered })
}

/// Stretches of civil time with samples; `None` when the log is in UTC already.
fn stretches(log: &mut dyn SampleReader) -> Result<Option<Vec<(i64, i64)>>, Error> {
    let mut found: Vec<(i64, i64)> = Vec::new();
    let mut row = Row::default();
    while log.read(&mut row)? {
        let t = match row.stamp {
            Stamp::Civil(t) => t,
            Stamp::Utc(_) => return Ok(None),
            Stamp::Absent => continue,
        };
        match found.last_mut() {
            Some((a, b)) if t >= *a - STRETCH_NS && t <= *b + STRETCH_NS => {
                *a = (*a).min(t);
                *b = (*b).max(t);
            }
            _ => found.push((t, t)),
        }
    }
    Ok(Some(found))
}

fn overlap(p: &Prompt, stretches: &[(i64, i64)], offset_ns: i64) -> i64 {
    stretches
        .iter()
        .map(|(a, b)| (p.end_ns.min(b - offset_ns) - p.start_ns.max(a - offset_ns)).max(0))
        .sum()
}
