//! Measured points to choose from, in both layouts, and the published table that ships with us.

use std::path::Path;

use enerinfer_datasets::{
    ChoiceModel, ChoiceTable, MeasurementTable, OperatingPoint, TableError, survey,
};

fn published() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("measured/h_phone_fig4.csv")
}

/// Reads a text through a file, as the command line does.
fn read(text: &str) -> Result<ChoiceTable, String> {
    let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    std::fs::write(file.path(), text).map_err(|e| e.to_string())?;
    ChoiceTable::read(file.path()).map(|(table, _)| table).map_err(|e| e.to_string())
}

/// The published layout, made from the table that is ours.
fn by_level(model: &ChoiceModel) -> String {
    let mut text =
        "mem_level,npu_level,throughput_tok_per_s,efficiency_tok_per_j,power_w\n".to_owned();
    for p in &model.points {
        let (r, w) = (p.throughput_tok_per_s, p.power_w);
        text.push_str(&format!("{},{},{r},{:.2},{w}\n", p.point.mem, p.point.accel, r / w));
    }
    text
}

#[test]
fn the_published_table_is_of_a_survey_model() -> Result<(), TableError> {
    let (table, warnings) = MeasurementTable::read(&published(), "h_phone")?;
    assert!(warnings.is_empty(), "{warnings:?}");
    let qwen = survey::find("Qwen2-1.5B").map(|m| m.shape);
    assert_eq!(qwen, Some(table.models[0].shape));
    assert_eq!(
        (table.platform.clocks.mem_khz.len(), table.platform.clocks.accel_khz.len()),
        (9, 5)
    );
    assert!(table.has_power() && !table.has_accel_power());
    // Restated in canonical form: reading and writing change nothing.
    let text = std::fs::read_to_string(published()).unwrap_or_default();
    assert_eq!(table.to_csv(), text);
    Ok(())
}

/// EnerInfer Table 2, from the numbers of Figure 4: (QoE, memory level, NPU level, tokens/s,
/// tokens/J, gain over the default in percent).
#[test]
fn the_best_points_are_the_papers() -> Result<(), TableError> {
    let (table, _) = ChoiceTable::read(&published())?;
    let points = &table.models[0].points;
    let efficiency = |i: usize| points[i].throughput_tok_per_s / points[i].power_w;
    let default = points.len() - 1;
    assert_eq!(points[default].point, OperatingPoint { mem: 8, accel: 4 });
    for (qoe, mem, accel, r, e, gain) in
        [(5.0, 1, 0, 5.59, 18.51, 62.0), (10.0, 6, 1, 10.09, 17.10, 50.0)]
    {
        let best = (0..points.len())
            .filter(|&i| points[i].throughput_tok_per_s > qoe)
            .max_by(|&a, &b| efficiency(a).total_cmp(&efficiency(b)));
        let Some(best) = best else { panic!("no point meets {qoe}") };
        assert_eq!(points[best].point, OperatingPoint { mem, accel });
        assert_eq!(points[best].throughput_tok_per_s, r);
        assert!((efficiency(best) - e).abs() < 0.005);
        assert_eq!(((efficiency(best) / efficiency(default) - 1.0) * 100.0).round(), gain);
    }
    Ok(())
}

#[test]
fn both_layouts_give_the_same_points() -> Result<(), String> {
    let (full, _) = ChoiceTable::read(&published()).map_err(|e| e.to_string())?;
    let model = &full.models[0];
    assert_eq!(model.name.as_deref(), Some("Qwen2-1.5B"));
    assert_eq!(
        (model.points[9].mem.as_str(), model.points[9].accel.as_str()),
        ("547 MHz", "1400 MHz")
    );
    let text = by_level(model);
    for text in [text.clone(), text.replace("npu_level", "accel_level")] {
        let levels = read(&text)?;
        assert_eq!(levels.models.len(), 1);
        assert_eq!(levels.models[0].name, None);
        assert_eq!(levels.models[0].points[9].mem, "level 1");
        assert_eq!(levels.models[0].points.len(), 45);
        for (a, b) in levels.models[0].points.iter().zip(&model.points) {
            assert_eq!(
                (a.point, a.throughput_tok_per_s, a.power_w),
                (b.point, b.throughput_tok_per_s, b.power_w)
            );
        }
    }
    Ok(())
}

#[test]
fn bad_tables_by_level_are_explained() {
    let head = "mem_level,npu_level,throughput_tok_per_s,power_w\n";
    for (rows, advice) in [
        ("", "no rows"),
        (
            "0,0,4,1\n0,0,5,1\n",
            "row 3: column mem_level: value '0': the model is measured twice at mem_level 0, npu_level 0",
        ),
        ("0,0,4,1\n1,1,5,1\n", "no row at mem_level 0, npu_level 1"),
        ("0,0,0,1\n", "row 2: column throughput_tok_per_s: value '0': must be positive"),
        ("0,0,4,-1\n", "row 2: column power_w: value '-1': must be positive"),
        ("0,0,4,\n", "row 2: column power_w: value '': must not be empty"),
        ("0,high,4,1\n", "row 2: column npu_level: value 'high': must be a whole number"),
        ("0,300,4,1\n", "too large"),
        ("0,0,nan,1\n", "finite"),
    ] {
        let error = read(&format!("{head}{rows}")).map(|t| t.models.len());
        let error = error.expect_err(rows);
        assert!(error.contains(advice), "no '{advice}' in: {error}");
    }
    let error = read("mem_level,throughput_tok_per_s,power_w\n0,1,1\n").map(|t| t.models.len());
    assert!(error.is_err_and(|e| e.contains("lacks column npu_level")));
}

#[test]
fn choosing_needs_power() -> Result<(), TableError> {
    let (mut table, _) = MeasurementTable::read(&published(), "h_phone")?;
    for row in &mut table.rows {
        row.power_w = None;
    }
    let error = ChoiceTable::from_table(&table).map(|t| t.models.len());
    assert!(error.is_err_and(|e| e.to_string().contains("needs power")));
    Ok(())
}
