//! The measurement table as a user meets it: files in, tables or one clear error out.

use enerinfer_datasets::{
    LlmShape, MeasurementTable, Model, OperatingPoint, Platform, Row, ShapeSpec, Source,
    TableError, Warning, WeightFormat, Workload,
};
use proptest::prelude::*;

const HEADER: &str = "model,layers,hidden,heads,kv_heads,ffn,vocab,total_params,format,engine,\
                      accel_mhz,mem_mhz,throughput_tok_per_s,power_w,accel_power_w,samples,source";

/// Cells of a good row, by column.
const GOOD: [(&str, &str); 17] = [
    ("model", "toy"),
    ("layers", "12"),
    ("hidden", "768"),
    ("heads", "12"),
    ("kv_heads", "4"),
    ("ffn", "2048"),
    ("vocab", "32000"),
    ("total_params", ""),
    ("format", "q4_0"),
    ("engine", "llama.cpp"),
    ("accel_mhz", "1300.5"),
    ("mem_mhz", "665.6"),
    ("throughput_tok_per_s", "12.5"),
    ("power_w", "3.25"),
    ("accel_power_w", "1.5"),
    ("samples", "5"),
    ("source", "measured:power meter"),
];

fn row(changes: &[(&str, &str)]) -> String {
    let cell = |(column, good): (&str, &str)| {
        changes.iter().find(|c| c.0 == column).map_or(good, |c| c.1).to_owned()
    };
    GOOD.map(cell).join(",")
}

/// A file of the rows given as changes to the good row.
fn file(rows: &[&[(&str, &str)]]) -> String {
    let mut text = format!("{HEADER}\n");
    for changes in rows {
        text.push_str(&row(changes));
        text.push('\n');
    }
    text
}

fn read(bytes: impl AsRef<[u8]>) -> Result<(MeasurementTable, Vec<Warning>), TableError> {
    MeasurementTable::read_from(bytes.as_ref(), "toy.csv", "toy-device")
}

/// The error of a bad file, which must name the file; panics if the file is accepted.
fn refused(bytes: impl AsRef<[u8]>) -> TableError {
    match read(bytes) {
        Ok((table, _)) => panic!("accepted: {table:?}"),
        Err(e) => {
            assert!(e.to_string().starts_with("toy.csv: "), "{e}");
            e
        }
    }
}

const TWO_POINTS: [&[(&str, &str)]; 2] = [&[], &[("accel_mhz", "306")]];

#[test]
fn a_good_file_is_read_in_full() -> Result<(), TableError> {
    let (table, _) = read(file(&TWO_POINTS))?;
    assert_eq!(table.platform.name, "toy-device");
    assert_eq!(table.platform.engine, "llama.cpp");
    assert_eq!(table.platform.format, WeightFormat::Q4_0);
    assert_eq!(table.platform.power_domain, "accel+mem");
    assert_eq!(table.platform.clocks.accel_khz, [306_000, 1_300_500]);
    assert_eq!(table.platform.clocks.mem_khz, [665_600]);
    assert_eq!(table.source, Source::Measured("power meter".to_owned()));
    assert_eq!(table.workload, Workload::default());
    assert_eq!(table.models[0].name, "toy");
    assert_eq!(table.models[0].shape.dims().kv_heads, 4);
    assert_eq!(table.rows_of(0).len(), 2);
    assert_eq!(table.rows_of(1), []);
    assert!(table.has_power() && table.has_accel_power());
    Ok(())
}

/// Each bad cell alone, with the column that must be named and a part of the advice.
#[test]
fn a_bad_cell_is_named_with_row_column_value_and_remedy() {
    for (column, value, advice) in [
        ("layers", "twelve", "whole number"),
        ("layers", "12.5", "whole number"),
        ("layers", "-3", "whole number"),
        ("layers", "0", "from 1 to"),
        ("layers", "99999999999", "too large"),
        ("layers", "", "must not be empty"),
        ("hidden", "770", "must divide hidden"),
        ("kv_heads", "5", "must divide heads"),
        ("vocab", "4294967295", "from 1 to"),
        ("total_params", "7", "factor of 2"),
        ("model", "", "must not be empty"),
        ("model", "a\tb", "control characters"),
        ("engine", "a\u{7}b", "control characters"),
        ("format", "q3_x", "known: f16"),
        ("format", "", "must not be empty"),
        ("format", "q4_0-sparse", "sparse decoding is not supported"),
        ("engine", "PowerInfer", "sparse decoding is not supported"),
        ("engine", "llama.cpp speculative", "speculative decoding is not supported"),
        ("engine", "", "must not be empty"),
        ("accel_mhz", "fast", "must be a number"),
        ("accel_mhz", "0", "positive"),
        ("accel_mhz", "-306", "positive"),
        ("accel_mhz", "306.0004", "whole number of kHz"),
        ("accel_mhz", "0.0000001", "whole number of kHz"),
        ("mem_mhz", "3199000000", "kHz or Hz"),
        ("mem_mhz", "inf", "finite"),
        ("mem_mhz", "", "must not be empty"),
        ("throughput_tok_per_s", "fast", "must be a number"),
        ("throughput_tok_per_s", "12.5 tok/s", "without a unit"),
        ("throughput_tok_per_s", "", "must not be empty"),
        ("throughput_tok_per_s", "0", "failed run"),
        ("throughput_tok_per_s", "0.0", "failed run"),
        ("throughput_tok_per_s", "-0", "failed run"),
        ("throughput_tok_per_s", "-4.5", "must be positive"),
        ("throughput_tok_per_s", "NaN", "finite"),
        ("throughput_tok_per_s", "-inf", "finite"),
        ("throughput_tok_per_s", "1e999", "finite"),
        ("throughput_tok_per_s", "1e300", "check the unit"),
        ("throughput_tok_per_s", "1e-300", "check the unit"),
        ("power_w", "0", "must be positive"),
        ("power_w", "-1", "must be positive"),
        ("power_w", "nan", "finite"),
        ("power_w", "[N/A]", "must be a number"),
        ("accel_power_w", "-1", "must be positive"),
        ("accel_power_w", "9", "total of 3.25 W"),
        ("samples", "0", "at least 1"),
        ("samples", "many", "whole number"),
        ("source", "a friend", "measured:<how>"),
        ("source", "measured:", "measured:<how>"),
        ("source", "my bench", "write 'measured:my bench'"),
        ("source", "Measured: my bench", "write 'measured:my bench'"),
    ] {
        let error = refused(file(&[&[(column, value)]]));
        let text = error.to_string();
        assert_eq!(error.line(), Some(2), "{text}");
        // Heads that do not divide the hidden size: either may be wrong, and heads is named.
        let named = if (column, value) == ("hidden", "770") { "heads" } else { column };
        assert_eq!(error.column(), Some(named), "{text}");
        assert!(named != column || error.value() == Some(value), "{text}");
        assert!(text.contains(advice), "no '{advice}' in: {text}");
        assert!(text.contains("row 2: column"), "{text}");
    }
}

#[test]
fn a_bad_header_is_explained() {
    for (text, advice) in [
        (String::new(), "the file is empty"),
        ("\n\n".to_owned(), "the file is empty"),
        (",,\n".to_owned(), "the file is empty"),
        (format!("{HEADER}\n"), "no rows"),
        (HEADER.to_owned(), "no rows"),
        (
            file(&TWO_POINTS).replace(",power_w,", ",watts,"),
            "lacks column power_w; add or rename (columns in the file that are not known: watts)",
        ),
        (
            file(&TWO_POINTS).replace("mem_mhz,throughput_tok_per_s", "mem,speed"),
            "lacks columns mem_mhz, throughput_tok_per_s",
        ),
        (file(&TWO_POINTS).replace(',', ";"), "separated by semicolons"),
        (file(&TWO_POINTS).replace(',', "\t"), "separated by tabs"),
        (file(&TWO_POINTS).replace("mem_mhz", "accel_mhz"), "names column accel_mhz twice"),
        ("hello".to_owned(), "lacks columns model, layers"),
    ] {
        let error = refused(&text).to_string();
        assert!(error.contains(advice), "no '{advice}' in: {error}");
    }
}

#[test]
fn bytes_that_are_no_utf8_csv_are_explained() {
    let mut latin1 = file(&TWO_POINTS).into_bytes();
    let at = latin1.len() - 4;
    latin1[at] = 0xE9;
    let error = refused(&latin1);
    assert_eq!(error.line(), Some(3));
    assert!(error.to_string().contains("UTF-8"), "{error}");
    let utf16: Vec<u8> =
        std::iter::once(0xFEFF).chain(HEADER.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert!(refused(&utf16).to_string().contains("UTF-16"));
    let huge = std::io::Read::take(std::io::repeat(b'x'), u64::MAX);
    let error = MeasurementTable::read_from(huge, "huge.csv", "toy").map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("larger than"), "{error}");
}

#[test]
fn rows_of_another_length_are_named() {
    let mut text = file(&TWO_POINTS);
    text.push_str("toy,1\n");
    let error = refused(&text);
    assert_eq!(error.line(), Some(4));
    assert!(error.to_string().contains("2 cells but the header has 17"), "{error}");
    // A decimal comma makes a cell too many.
    let error = refused(file(&[&[("power_w", "3,25")]])).to_string();
    assert!(error.contains("18 cells") && error.contains("point"), "{error}");
}

#[test]
fn blank_lines_do_not_shift_the_rows_named() {
    let text = format!(
        "{HEADER}\n\n\n{}\n\n{}\n",
        row(&[]),
        row(&[("power_w", "-1"), ("accel_mhz", "306")])
    );
    assert_eq!(refused(&text).line(), Some(6));
    assert_eq!(refused(text.replace('\n', "\r\n")).line(), Some(6));
    assert_eq!(refused(text.replace('\n', "\r")).line(), Some(6));
    // A cell may hold a line end.
    let bad = row(&[("power_w", "-1")]);
    let text = format!("{HEADER},note\n{},\"a\nb\"\n{bad},c\n", row(&[]));
    assert_eq!(refused(text).line(), Some(4));
}

/// Names go to terminals, pages and source code: whatever would deceive there is refused with its
/// place, in every column of text.
#[test]
fn names_that_deceive_are_refused_with_row_and_column() {
    let long = "x".repeat(100_000);
    let mut bad: Vec<String> =
        ["\u{200b}", "\u{200e}", "\u{2028}", "\u{2029}", "\u{2060}", "\u{feff}", "\u{85}", "\u{7}"]
            .iter()
            .map(|c| format!("a{c}b"))
            .collect();
    bad.extend(('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').map(|c| format!("a{c}b")));
    bad.push(long);
    for name in &bad {
        for column in ["model", "engine", "power_domain", "source"] {
            let value = if column == "source" { format!("measured:{name}") } else { name.clone() };
            let text = if column == "power_domain" {
                format!("{HEADER},power_domain\n{},{value}\n", row(&[]))
            } else {
                file(&[&[(column, &value)]])
            };
            let error = refused(text);
            let message = error.to_string();
            assert_eq!((error.line(), error.column()), (Some(2), Some(column)), "{message}");
            assert!(
                message.len() < 400 && !message.chars().any(|c| name.len() < 10 && !c.is_ascii()),
                "{message:?}"
            );
        }
    }
    // The row is that of the model at fault, not the first.
    let error = refused(file(&[&[], &[("model", &"y".repeat(201)), ("layers", "6")]]));
    assert_eq!((error.line(), error.column()), (Some(3), Some("model")), "{error}");
    assert!(error.to_string().contains("1 to 200 characters, has 201"), "{error}");
}

/// A shape that breaks a rule only because one of its rows was altered: the altered column and
/// both rows are named, whichever row it is.
#[test]
fn an_altered_row_is_named_rather_than_the_rule_it_breaks() {
    for (column, value, total) in [
        ("layers", "48", "99000000"),
        ("layers", "2000", ""),
        ("vocab", "320000", "99000000"),
        ("heads", "11", ""),
        ("kv_heads", "5", ""),
        ("hidden", "770", ""),
    ] {
        let good = [("total_params", total), ("accel_mhz", "306")];
        let altered = [("total_params", total), (column, value)];
        for (rows, other) in [([&good[..], &altered[..]], 2), ([&altered[..], &good[..]], 3)] {
            let error = refused(file(&rows));
            let text = error.to_string();
            assert_eq!((error.line(), error.column()), (Some(5 - other), Some(column)), "{text}");
            assert!(text.contains(&format!("here in row {other}")), "{text}");
        }
    }
}

/// Rows that are good alone but not together; the second of them is named, and the first too.
#[test]
fn contradictions_name_both_rows() {
    for (column, value, advice) in [
        ("layers", "13", "'12' here in row 2"),
        ("vocab", "32001", "'32000' here in row 2"),
        ("format", "q8_0", "'q4_0' in row 2: predictors are trained per weight format"),
        ("engine", "mlc", "'llama.cpp' in row 2: one table holds one engine"),
        ("source", "simulated:toy", "'measured:power meter' in row 2"),
        ("power_w", "", "every row or in none"),
        ("accel_power_w", "", "every row or in none"),
    ] {
        let error = refused(file(&[&[("accel_mhz", "306")], &[(column, value)]]));
        let text = error.to_string();
        assert_eq!((error.line(), error.column()), (Some(3), Some(column)), "{text}");
        assert!(text.contains(advice) && text.contains("row 2"), "no '{advice}' in: {text}");
    }
    // The same clock written otherwise is the same operating point.
    let error = refused(file(&[&[], &[("accel_mhz", "306")], &[("accel_mhz", "306.000")]]));
    assert_eq!(error.line(), Some(4));
    let text = error.to_string();
    assert!(text.contains("measured twice at accel_mhz 306, mem_mhz 665.6"), "{text}");
    assert!(text.contains("the other is row 3"), "{text}");
}

#[test]
fn optional_columns_must_not_vary_either() {
    for (column, a, b) in [
        ("power_domain", "accel+mem", "total-idle"),
        ("prompt_tokens", "64", "128"),
        ("context_tokens", "64", ""),
        ("head_dim", "64", "128"),
        ("tied", "true", "false"),
        ("ffn_kind", "gated", "plain"),
    ] {
        let text =
            format!("{HEADER},{column}\n{},{a}\n{},{b}\n", row(&[]), row(&[("accel_mhz", "306")]));
        let error = refused(text);
        assert_eq!((error.line(), error.column()), (Some(3), Some(column)), "{error}");
    }
    for (column, value, advice) in [
        ("tied", "yes", "must be one of true, false"),
        ("ffn_kind", "swiglu", "must be one of gated, plain"),
        ("head_dim", "0", "from 1 to"),
        ("experts", "0", "from 1 to"),
        ("active_experts", "2", "at most experts"),
        ("prompt_tokens", "-1", "whole number"),
    ] {
        let error = refused(format!("{HEADER},{column}\n{},{value}\n", row(&[])));
        assert_eq!((error.line(), error.column()), (Some(2), Some(column)), "{error}");
        assert!(error.to_string().contains(advice), "no '{advice}' in: {error}");
    }
}

#[test]
fn holes_are_named_by_model_and_point() {
    let text = file(&[
        &[],
        &[("accel_mhz", "306")],
        &[("model", "other"), ("layers", "6"), ("accel_mhz", "306")],
    ]);
    let error = refused(text).to_string();
    assert!(
        error.contains("model 'other' has no row at accel_mhz 1300.5, mem_mhz 665.6"),
        "{error}"
    );
    assert!(error.contains("1 of its 2") && error.contains("(its rows: 4)"), "{error}");
    // A pair of clocks that nobody can reach.
    let text = file(&[
        &[],
        &[("accel_mhz", "306"), ("mem_mhz", "204")],
        &[("model", "other"), ("layers", "6")],
        &[("model", "other"), ("layers", "6"), ("accel_mhz", "306"), ("mem_mhz", "204")],
    ]);
    let error = refused(text).to_string();
    assert!(error.contains("no other model has this one"), "{error}");
}

/// One mistyped clock makes a hole in every model; the cell is named, not the models.
#[test]
fn a_mistyped_clock_is_named_by_its_row() {
    let good = |model: usize, accel: &str, mem: &str| {
        let (name, layers) = (format!("m{model}"), (6 + model).to_string());
        row(&[("model", &name), ("layers", &layers), ("accel_mhz", accel), ("mem_mhz", mem)])
    };
    let mut rows = Vec::new();
    for model in 0..3 {
        for accel in ["150", "306", "612"] {
            rows.extend(["204", "665.6", "2133"].map(|mem| good(model, accel, mem)));
        }
    }
    for i in 0..rows.len() {
        for (column, value) in [("accel_mhz", "1.5"), ("mem_mhz", "66.56")] {
            let mut cells: Vec<String> = rows[i].split(',').map(str::to_owned).collect();
            let at = GOOD.iter().position(|(c, _)| *c == column).unwrap_or(0);
            cells[at] = value.to_owned();
            let mut rows = rows.clone();
            rows[i] = cells.join(",");
            let error = refused(format!("{HEADER}\n{}\n", rows.join("\n")));
            let found = (error.line(), error.column(), error.value());
            assert_eq!(found, (Some(i as u64 + 2), Some(column), Some(value)), "{error}");
        }
    }
    // Missing points are not a mistyped clock: the model and its rows are named.
    rows.truncate(21);
    let error = refused(format!("{HEADER}\n{}\n", rows.join("\n")));
    assert_eq!(error.line(), None);
    let text = error.to_string();
    assert!(text.contains("model 'm2' has no row at accel_mhz 306, mem_mhz 204"), "{text}");
    assert!(text.contains("6 of its 9") && text.contains("(its rows: 20–22)"), "{text}");
}

#[test]
fn momentary_clocks_are_not_levels() {
    let mut text = format!("{HEADER}\n");
    for i in 0..65 {
        text.push_str(&row(&[("accel_mhz", &format!("{}", 300 + i))]));
        text.push('\n');
    }
    let error = refused(text);
    assert_eq!((error.line(), error.column()), (Some(66), Some("accel_mhz")), "{error}");
    assert!(error.to_string().contains("64 levels"), "{error}");
}

#[test]
fn order_of_columns_line_ends_and_a_byte_order_mark_do_not_matter() -> Result<(), TableError> {
    let (table, _) = read(file(&TWO_POINTS))?;
    let plain = file(&TWO_POINTS);
    let reversed: String =
        plain.lines().map(|l| l.split(',').rev().collect::<Vec<_>>().join(",") + "\n").collect();
    let extra: String = plain
        .lines()
        .enumerate()
        .map(|(i, l)| format!("{},{l}\n", if i == 0 { "note" } else { "x" }))
        .collect();
    for text in [
        plain.replace('\n', "\r\n"),
        format!("\u{FEFF}{plain}"),
        format!("\u{FEFF}{}", plain.replace('\n', "\r\n")),
        plain.replace(',', " , "),
        plain.replace("toy", "\"toy\""),
        plain.trim_end().to_owned(),
        reversed,
        extra,
    ] {
        let (other, _) = read(&text)?;
        assert_eq!(other.digest(), table.digest(), "{text}");
    }
    Ok(())
}

#[test]
fn what_is_assumed_or_left_out_is_said() -> Result<(), TableError> {
    let warned = |text: String| -> Result<String, TableError> {
        let (_, warnings) = read(text)?;
        Ok(warnings.iter().map(|w| format!("{w}\n")).collect())
    };
    let all = warned(file(&[&[("kv_heads", ""), ("power_w", ""), ("accel_power_w", "")]]))?;
    for part in ["tied", "ffn_kind", "kv_heads", "only throughput"] {
        assert!(all.contains(part), "{all}");
    }
    assert!(warned(file(&[&[("power_w", "9000")]]))?.contains("milliwatts"));
    let twins = file(&[&[], &[("model", "twin")]]);
    assert!(warned(twins)?.contains("'toy' and 'twin' have the same shape"));
    let extra = format!("{HEADER},note,\n{},x,y\n", row(&[]));
    assert!(warned(extra)?.contains("not known: note, (no name)"));
    Ok(())
}

fn model(name: &str, layers: u32, experts: u32) -> Result<Model, TestCaseError> {
    let spec = ShapeSpec {
        layers,
        hidden: 640,
        heads: 4,
        kv_heads: 1,
        head_dim: Some(256),
        ffn: 2048,
        vocab: 262_144,
        gated: Some(layers.is_multiple_of(2)),
        tied: Some(layers.is_multiple_of(3)),
        experts: Some(experts),
        active_experts: Some(experts.div_ceil(2)),
        total_params: None,
    };
    let shape = LlmShape::new(spec).map_err(|e| TestCaseError::fail(e.to_string()))?;
    Ok(Model { name: name.to_owned(), shape })
}

fn platform(accel_khz: Vec<u32>, mem_khz: Vec<u32>) -> Platform {
    Platform {
        name: "toy-device".to_owned(),
        description: String::new(),
        engine: "an, \"engine\"".to_owned(),
        format: WeightFormat::Q6K,
        power_domain: "total-idle".to_owned(),
        clocks: enerinfer_artifacts::ClockTables { accel_khz, mem_khz },
    }
}

prop_compose! {
    fn clocks()(set in prop::collection::btree_set(1u32..20_000_000, 1..6)) -> Vec<u32> {
        set.into_iter().collect()
    }
}

proptest! {
    /// Values, names, clocks and order survive: bits of floats included.
    #[test]
    fn written_tables_read_back_the_same(
        accel in clocks(),
        mem in clocks(),
        names in prop::collection::btree_set("[a-zA-Z0-9,\"; é#-]{0,12}[a-z\"]", 1..4),
        value in prop::collection::vec((1e-6f64..1e6, 1e-6f64..1e3, 0.0f64..1.0), 1..50),
        power in any::<(bool, bool)>(),
        workload in any::<(Option<u32>, Option<u32>)>(),
        simulated: bool,
    ) {
        let names: Vec<String> = names.into_iter().map(|n| n.trim().to_owned()).collect();
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        prop_assume!(distinct.len() == names.len());
        let models = names
            .iter()
            .zip(1u32..)
            .map(|(n, i)| model(n, i, i))
            .collect::<Result<Vec<_>, _>>()?;
        let platform = platform(accel, mem);
        let mut rows = Vec::new();
        for m in 0..models.len() as u32 {
            for point in platform.clocks.points() {
                let (throughput_tok_per_s, watts, share) = value[rows.len() % value.len()];
                rows.push(Row {
                    model: m,
                    point,
                    throughput_tok_per_s,
                    power_w: power.0.then_some(watts),
                    accel_power_w: power.1.then_some((watts * share).max(1e-6)),
                    samples: 1 + m,
                });
            }
        }
        let origin = "a \"meter\", calibrated".to_owned();
        let source = if simulated { Source::Simulated(origin) } else { Source::Measured(origin) };
        let in_order = rows.clone();
        rows.reverse();
        let workload = Workload { prompt_tokens: workload.0, context_tokens: workload.1 };
        let table = MeasurementTable::new(platform, source, models, rows)
            .map_err(|e| TestCaseError::fail(e.to_string()))?
            .with_workload(workload);
        prop_assert_eq!(&table.rows, &in_order);
        let csv = table.to_csv();
        let (back, _) = read(&csv).map_err(|e| TestCaseError::fail(format!("{e}\n{csv}")))?;
        prop_assert_eq!(&back, &table);
        prop_assert_eq!(back.digest(), table.digest());

        let points = table.platform.clocks.len();
        let last = table.models.len() - 1;
        let part = table.subset(&[last, usize::MAX, last]);
        prop_assert_eq!(&part.models[..], &table.models[last..]);
        prop_assert_eq!(part.rows.len(), points);
        for (i, row) in part.rows_of(0).iter().enumerate() {
            prop_assert_eq!(row.point, table.platform.clocks.point(i));
            prop_assert_eq!(Row { model: last as u32, ..*row }, table.rows_of(last)[i]);
        }
    }

    /// Whatever the bytes, there is an answer and no panic.
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0usize..400, at in 0usize..400) {
        let _ = read(&bytes);
        let mut text = file(&TWO_POINTS).into_bytes();
        let at = at % text.len();
        text.splice(at..at, bytes.iter().copied().take(cut % 8));
        let _ = read(&text);
        text.truncate(cut);
        let _ = read(&text);
    }
}

#[test]
fn tables_in_memory_obey_the_same_rules() -> Result<(), TestCaseError> {
    let good = Row {
        model: 0,
        point: OperatingPoint { mem: 0, accel: 0 },
        throughput_tok_per_s: 1.0,
        power_w: Some(2.0),
        accel_power_w: Some(1.0),
        samples: 1,
    };
    let models = vec![model("a", 1, 1)?];
    let build = |models: Vec<Model>, rows: Vec<Row>| {
        let source = Source::Simulated("toy".to_owned());
        MeasurementTable::new(platform(vec![1000], vec![2000]), source, models, rows)
    };
    prop_assert!(build(models.clone(), vec![good]).is_ok());
    for (rows, advice) in [
        (vec![], "no rows"),
        (vec![Row { model: 1, ..good }], "no such model"),
        (vec![Row { point: OperatingPoint { mem: 1, accel: 0 }, ..good }], "no such level"),
        (vec![Row { throughput_tok_per_s: f64::NAN, ..good }], "finite"),
        (vec![Row { accel_power_w: Some(3.0), ..good }], "cannot draw more"),
        (vec![Row { samples: 0, ..good }], "at least 1"),
        (vec![good, good], "measured twice"),
    ] {
        let error = build(models.clone(), rows).map(|_| ()).unwrap_err().to_string();
        prop_assert!(error.contains(advice), "no '{advice}' in: {error}");
    }
    for names in [vec![], vec!["a", "a"], vec![""], vec![" a"], vec!["a\n"]] {
        let models = names.into_iter().map(|n| model(n, 1, 1)).collect::<Result<Vec<_>, _>>()?;
        prop_assert!(build(models, vec![good]).is_err());
    }
    Ok(())
}

#[test]
fn files_are_written_whole_and_a_missing_one_is_named() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table.csv");
    let error = MeasurementTable::read(&path, "toy").map(|_| ()).unwrap_err();
    // Programs print the chain of causes after the message.
    assert!(std::error::Error::source(&error).is_none());
    let error = error.to_string();
    assert!(error.contains("table.csv: cannot be opened"), "{error}");
    assert_eq!(error.matches("os error").count(), 1, "{error}");
    let (table, _) = read(file(&TWO_POINTS))?;
    table.write(&path)?;
    let (back, _) = MeasurementTable::read(&path, "toy-device")?;
    assert_eq!(back, table);
    assert!(MeasurementTable::read(folder.path(), "toy").is_err());
    Ok(())
}
