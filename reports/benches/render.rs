//! Time to render one platform's record of the whole job's size (60 held-out models, 1000
//! trials), made from the committed one by repetition.

use criterion::{Criterion, criterion_group, criterion_main};
use enerinfer_reports::{Entry, Record};

const COPIES: u32 = 10;

fn large() -> Record {
    let small = Record::from_json(include_str!("../tests/data/orin.json")).expect("committed");
    let mut large = small.clone();
    let models = small.ranking.per_model.len() as u32;
    for copy in 1..COPIES {
        for model in &small.ranking.per_model {
            let mut model = model.clone();
            model.model = format!("{}-{copy}", model.model);
            large.ranking.per_model.push(model);
        }
        for row in &small.scatter {
            let mut row = row.clone();
            row.model += copy * models;
            large.scatter.push(row);
        }
    }
    for target in &mut large.targets {
        target.trials = target.trials.iter().cycle().take(1000).cloned().collect();
    }
    large
}

fn render(c: &mut Criterion) {
    let record = large();
    c.bench_function("html", |b| b.iter(|| enerinfer_reports::html(&record)));
    c.bench_function("html_with_baseline", |b| {
        b.iter(|| enerinfer_reports::html_with_baseline(&record, &record));
    });
    let json = record.to_json().expect("finite");
    c.bench_function("parse", |b| b.iter(|| Record::from_json(&json)));
    let entries: Vec<Entry> =
        (0..200).map(|i| Entry::new(format!("{i}/report.json"), None, &record)).collect();
    c.bench_function("index_of_200", |b| b.iter(|| enerinfer_reports::index_html(&entries)));
}

criterion_group!(benches, render);
criterion_main!(benches);
