//! A summary for a terminal.

use std::fmt::Write as _;

use enerinfer_artifacts::record::Record;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::sections::{is_simulated, regret};
use crate::text::{ABSENT, bytes, number, plain};

/// No line is wider, in terminal columns.
pub(crate) const WIDTH: usize = 100;

/// The summary, at most [`WIDTH`] columns wide.
pub(crate) fn render(record: &Record) -> String {
    let (id, data) = (&record.platform, &record.data);
    let mut out = String::new();
    let label = if is_simulated(record) { "SIMULATED" } else { "measured" };
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<11} {}", cut(&value, WIDTH - 12));
    };
    fact("platform", format!("{} · {} · {}", id.name, id.engine, id.weight_format));
    let noise = data.noise_percent.map(|n| format!(", noise {} %", number(Some(n), 1)));
    fact("data", format!("{label} ({}{})", id.source, noise.unwrap_or_default()));
    fact(
        "",
        format!(
            "{} rows, {} models: {} trained on, {} held out; seed {}",
            data.rows, data.models, data.train_models, data.test_models, record.seed
        ),
    );
    let _ = writeln!(
        out,
        "\n{:<12} {:<18} {:>14} {:>14} {:>7} {:>9} {:>12}",
        "target", "family", "CV MAPE, %", "held-out, %", "trees", "nodes", "est. flash"
    );
    for t in &record.targets {
        let size = record.size.predictors.iter().find(|p| p.target == t.target);
        let forest = size.map(|p| p.forest).or(t.forest);
        let stat = |value: Option<u32>| value.map_or(ABSENT.to_owned(), |v| v.to_string());
        let cv = format!(
            "{} ± {}",
            number(Some(t.cv_mape_percent), 2),
            number(Some(t.cv_se_percent), 2)
        );
        let _ = writeln!(
            out,
            "{:<12} {} {cv:>14} {:>14} {:>7} {:>9} {:>12}",
            t.target.name(),
            pad(&cut(&t.family, 18), 18),
            number(Some(t.heldout_mape_percent), 2),
            stat(forest.map(|f| f.trees)),
            stat(forest.map(|f| f.nodes)),
            size.map_or(ABSENT.to_owned(), |p| bytes(p.est_bytes)),
        );
    }
    out.push('\n');
    let (c, r) = (&record.combined, &record.ranking);
    let _ = writeln!(
        out,
        "held-out error   throughput {} %   power {} %   efficiency {} %",
        number(Some(c.throughput_mape_percent), 2),
        number(c.power_mape_percent, 2),
        number(c.efficiency_mape_percent, 2)
    );
    let noiseless = r.mean_tau_b_noiseless.map(|t| format!("   noiseless {}", number(Some(t), 3)));
    let _ = writeln!(
        out,
        "tau-b            mean {}   median {}{}",
        number(r.mean_tau_b, 3),
        number(r.median_tau_b, 3),
        noiseless.unwrap_or_default()
    );
    if let Some((regret, mean)) = regret::at_worst_qoe(record) {
        let noiseless = regret.mean_percent_noiseless;
        let noiseless = noiseless.map(|m| format!(", mean noiseless {} %", number(Some(m), 2)));
        let _ = writeln!(
            out,
            "regret           mean {} %, worst {} %{} (at QoE {} tok/s, the worst)",
            number(Some(mean), 2),
            number(regret.worst_percent, 2),
            noiseless.unwrap_or_default(),
            number(Some(regret.qoe_tok_per_s), 1)
        );
    }
    let size = &record.size;
    let within = if size.est_bytes <= size.budget_bytes { "within" } else { "OVER" };
    let _ = writeln!(
        out,
        "flash            {} estimated, {within} the budget of {}",
        bytes(size.est_bytes),
        bytes(size.budget_bytes)
    );
    if let Some(thermal) = &record.details.thermal {
        let _ = writeln!(
            out,
            "thermal          mean error {} °C   R² {} (up to 21 s ahead; {})",
            number(Some(thermal.mae_c), 3),
            number(thermal.r2, 4),
            thermal.source
        );
    }
    for note in &record.notes {
        let _ = writeln!(out, "note             {}", cut(note, WIDTH - 17));
    }
    // Only absurd numbers make a line too wide.
    out.lines().map(|line| format!("{}\n", cut(line, WIDTH))).collect()
}

/// `text` without control characters, in at most `width` columns.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let text = plain(text);
    if text.width() <= width {
        return text;
    }
    let mut out = String::new();
    let mut used = 1; // the ellipsis
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// `text` filled up to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}
