//! A report as data: sections of tables and pictures, before any output format.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::svg::Picture;

/// A whole report.
pub(crate) struct Document {
    /// What the report is about; unescaped, as all text here.
    pub(crate) title: String,
    /// Where the values come from, e.g. `SIMULATED`: written into every title and caption.
    pub(crate) label: String,
    /// Labels of tables and pictures, by their names, that differ from the document's.
    pub(crate) labels: BTreeMap<String, String>,
    /// Whether values come from a simulated device.
    pub(crate) simulated: bool,
    /// What that means, in a sentence.
    pub(crate) notice: String,
    /// The first figures to look at.
    pub(crate) tiles: Vec<Tile>,
    /// The rest.
    pub(crate) sections: Vec<Section>,
}

/// One headline figure.
pub(crate) struct Tile {
    /// What it is.
    pub(crate) name: &'static str,
    /// The value with its unit.
    pub(crate) value: String,
    /// What it is measured on.
    pub(crate) note: String,
}

/// A titled part of a report.
pub(crate) struct Section {
    /// Anchor, unique in the document.
    pub(crate) id: Cow<'static, str>,
    /// Heading.
    pub(crate) title: Cow<'static, str>,
    /// One sentence on what to see.
    pub(crate) lead: String,
    /// What is shown.
    pub(crate) parts: Vec<Part>,
}

/// Something shown in a section.
pub(crate) enum Part {
    /// A table in full view.
    Table(Table),
    /// Pictures side by side, each with the table behind it.
    Figures(Vec<Figure>),
    /// Sentences.
    List(Vec<String>),
}

/// A picture and the numbers it shows.
pub(crate) struct Figure {
    /// File name without extension, unique in the document.
    pub(crate) id: String,
    /// What is drawn.
    pub(crate) caption: String,
    /// The drawing.
    pub(crate) picture: Picture,
    /// The table behind it.
    pub(crate) table: Table,
}

/// A table.
pub(crate) struct Table {
    /// File name without extension, unique in the document.
    pub(crate) id: String,
    /// What the rows are.
    pub(crate) caption: String,
    /// Heads, with units.
    pub(crate) columns: Vec<Cow<'static, str>>,
    /// Rows as long as `columns`.
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A table cell.
pub(crate) enum Cell {
    /// Text, e.g. a model name.
    Text(String),
    /// A number and the decimals to show.
    Number(Option<f64>, usize),
    /// The last of a series and, where pictures are possible, a line through all.
    Trend {
        /// Oldest first.
        values: Vec<Option<f64>>,
        /// Decimals to show.
        decimals: usize,
    },
    /// Text that leads to a relative address.
    Link {
        /// What is shown.
        text: String,
        /// Percent-encoded.
        href: String,
    },
}

/// Heads of a table that are known beforehand.
pub(crate) fn heads<const N: usize>(names: [&'static str; N]) -> Vec<Cow<'static, str>> {
    names.map(Cow::Borrowed).to_vec()
}

impl Cell {
    /// A text cell.
    pub(crate) fn text(value: impl Into<String>) -> Self {
        Cell::Text(value.into())
    }

    /// A whole number.
    pub(crate) fn count(value: impl Into<u64>) -> Self {
        Cell::Number(Some(value.into() as f64), 0)
    }

    /// A number that is present.
    pub(crate) fn number(value: f64, decimals: usize) -> Self {
        Cell::Number(Some(value), decimals)
    }

    /// The text to show, not escaped.
    pub(crate) fn shown(&self) -> String {
        match self {
            Cell::Text(text) | Cell::Link { text, .. } => text.clone(),
            Cell::Number(value, decimals) => crate::text::number(*value, *decimals),
            Cell::Trend { values, decimals } => {
                crate::text::number(values.last().copied().flatten(), *decimals)
            }
        }
    }

    /// Whether the cell is aligned to the right.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Cell::Number(..) | Cell::Trend { .. })
    }
}

impl Document {
    /// The label of a table or picture.
    pub(crate) fn label_of(&self, id: &str) -> &str {
        self.labels.get(id).unwrap_or(&self.label)
    }

    /// All pictures in order.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.parts().flat_map(|part| match part {
            Part::Figures(figures) => figures.as_slice(),
            _ => &[],
        })
    }

    /// All tables in order, those behind pictures included.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.parts().flat_map(|part| {
            let tables: Vec<&Table> = match part {
                Part::Table(table) => vec![table],
                Part::Figures(figures) => figures.iter().map(|f| &f.table).collect(),
                Part::List(_) => Vec::new(),
            };
            tables
        })
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.sections.iter().flat_map(|section| &section.parts)
    }
}
