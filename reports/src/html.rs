//! A document as one self-contained HTML page.
//!
//! The page is well-formed XML too, which is how its tests read it.

use std::fmt::Write as _;

use crate::document::{Cell, Document, Figure, Part, Section, Table};
use crate::svg;
use crate::text::xml;

/// Texts longer than these need columns of some width, or their rows become tall on a phone.
const MEDIUM_TEXT: usize = 12;
const LONG_TEXT: usize = 36;

/// Tables behind pictures with more rows than this scroll in a box; no other table is ever cut.
const SHORT_TABLE: usize = 50;

const STYLE: &str = "\
body{margin:0;background:var(--surface);color:var(--ink);\
font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif}\
main,header,nav{max-width:72rem;margin:0 auto;padding:0 1rem}\
h1{font-size:1.6rem;line-height:1.25;margin:1.2rem 0 .4rem;overflow-wrap:anywhere}\
h2{font-size:1.25rem;margin:2.4rem 0 .2rem;padding-top:.4rem;border-top:1px solid var(--grid)}\
.lead{color:var(--muted);margin:.2rem 0 1rem;max-width:50rem}\
.banner{border:2px solid var(--b);border-radius:6px;padding:.5rem .8rem;margin:.8rem 0}\
.label{display:inline-block;font-size:.75rem;font-weight:700;letter-spacing:.03em;\
padding:0 .4em;border:1px solid currentColor;border-radius:4px;margin-right:.5em}\
.simulated{color:var(--b)}.measured{color:var(--c)}\
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;padding:0;margin:.6rem 0}\
a{color:var(--a)}\
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.7rem;\
margin:1rem 0;padding:0;list-style:none}\
.tiles li{border:1px solid var(--grid);border-radius:6px;padding:.6rem .8rem;\
display:flex;flex-direction:column;font-size:.9rem}\
.tiles b{font-size:1.4rem;white-space:nowrap;line-height:1.3;font-variant-numeric:tabular-nums}\
.tiles span{font-size:.8rem;color:var(--muted)}\
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));\
gap:1.2rem;align-items:start}\
figure{margin:0;min-width:0;max-width:42rem;break-inside:avoid}\
td svg{width:4.5rem;height:1.1rem;display:block;margin-left:auto}\
figure svg{width:100%;height:auto;display:block}\
figcaption,caption{font-size:.9rem;text-align:left;padding:.3rem 0;overflow-wrap:anywhere}\
details{font-size:.9rem}summary{cursor:pointer;color:var(--a)}\
.scroll{overflow-x:auto}.tall{overflow:auto;max-height:32rem}.wide{margin:.6rem 0 1.2rem}\
table{border-collapse:collapse;font-size:.87rem;font-variant-numeric:tabular-nums}\
th,td{padding:.25rem 1.1rem .25rem 0;text-align:left;vertical-align:top;\
border-bottom:1px solid var(--grid)}\
th{font-weight:600;vertical-align:bottom}.n{text-align:right}.m{min-width:8rem}.l{min-width:15rem}\
td{overflow-wrap:break-word;max-width:24rem}\
@media(max-width:34rem){svg{font-size:17px}svg .tick{font-size:15px}}\
@media print{:root{--surface:#fff;--ink:#000;--muted:#444;--grid:#ccc;--a:#0072b2;--b:#d55e00;\
--c:#00795a;--d:#a8478a;--e:#7a6200}nav{display:none}.scroll{overflow:visible;max-height:none}\
.figures{grid-template-columns:1fr 1fr}h2,figcaption,caption{break-after:avoid}\
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}";

/// The page of `document`.
pub(crate) fn render(document: &Document) -> String {
    let mut out = String::with_capacity(1 << 19);
    let title = xml(&document.title);
    let label = Label(document, &document.label);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/>\n\
         <title>{} · {title}</title>\n<style>{}{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n",
        xml(&document.label),
        svg::STYLE,
    );
    let class = if document.simulated { " class=\"banner\"" } else { "" };
    let _ = writeln!(out, "<p{class}>{label}{}</p>", xml(&document.notice));
    out.push_str("<ul class=\"tiles\">\n");
    for tile in &document.tiles {
        let _ = writeln!(
            out,
            "<li>{}<b>{}</b><span>{}</span></li>",
            xml(tile.name),
            xml(&tile.value),
            xml(&tile.note)
        );
    }
    out.push_str("</ul>\n</header>\n<nav aria-label=\"Sections\"><ul>\n");
    for section in &document.sections {
        let _ = writeln!(out, "<li><a href=\"#{}\">{}</a></li>", section.id, xml(&section.title));
    }
    out.push_str("</ul></nav>\n<main>\n");
    for section in &document.sections {
        render_section(&mut out, document, section);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A label of captions as markup.
struct Label<'a>(&'a Document, &'a str);

impl<'a> Label<'a> {
    /// That of a table or picture.
    fn of(document: &'a Document, id: &str) -> Self {
        Label(document, document.label_of(id))
    }
}

impl std::fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A label of its own that says so is simulated whatever the report is, and the other way.
        let simulated = match self.1 == self.0.label {
            true => self.0.simulated,
            false => self.1.contains("SIMULATED"),
        };
        let class = if simulated { "simulated" } else { "measured" };
        write!(f, "<span class=\"label {class}\">{}</span>", xml(self.1))
    }
}

fn render_section(out: &mut String, document: &Document, section: &Section) {
    let _ = writeln!(
        out,
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"lead\">{}</p>",
        section.id,
        xml(&section.title),
        xml(&section.lead)
    );
    for part in &section.parts {
        match part {
            Part::Table(table) => {
                out.push_str("<div class=\"wide\">");
                render_table(out, &Label::of(document, &table.id), table, "scroll");
                out.push_str("</div>\n");
            }
            Part::Figures(figures) => {
                out.push_str("<div class=\"figures\">\n");
                for figure in figures {
                    render_figure(out, document, figure);
                }
                out.push_str("</div>\n");
            }
            Part::List(items) => {
                out.push_str("<ul>\n");
                for item in items {
                    let _ = writeln!(out, "<li>{}</li>", xml(item));
                }
                out.push_str("</ul>\n");
            }
        }
    }
    out.push_str("</section>\n");
}

fn render_figure(out: &mut String, document: &Document, figure: &Figure) {
    let label = &Label::of(document, &figure.id);
    // A section of that name is what its address leads to already; an id stands for one thing.
    let id = match document.sections.iter().any(|section| section.id == figure.id) {
        true => String::new(),
        false => format!(" id=\"{}\"", xml(&figure.id)),
    };
    let _ = writeln!(
        out,
        "<figure{id}>{}<figcaption>{label}{}</figcaption>",
        figure.picture.inline(),
        xml(&figure.caption)
    );
    render_folded(out, label, &figure.table);
    out.push_str("</figure>\n");
}

fn render_folded(out: &mut String, label: &Label<'_>, table: &Table) {
    let _ = write!(out, "<details><summary>Table: {} rows</summary>", table.rows.len());
    let class = if table.rows.len() > SHORT_TABLE { "scroll tall" } else { "scroll" };
    render_table(out, label, table, class);
    out.push_str("</details>\n");
}

fn render_table(out: &mut String, label: &Label<'_>, table: &Table, class: &str) {
    if table.rows.is_empty() {
        let _ = write!(out, "<p>{label}{}: none</p>", xml(&table.caption));
        return;
    }
    // A scrolling region must be reachable by keyboard.
    let _ = write!(
        out,
        "<div class=\"{class}\" tabindex=\"0\"><table>\n<caption>{label}{}</caption>\n<thead><tr>",
        xml(&table.caption)
    );
    for (i, head) in table.columns.iter().enumerate() {
        let numeric = table.rows.first().and_then(|r| r.get(i)).is_some_and(|c| c.is_number());
        let class = if numeric { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", xml(head));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            let shown = cell.shown();
            let length = shown.chars().count();
            let class = if cell.is_number() {
                " class=\"n\""
            } else if length > LONG_TEXT {
                " class=\"l\""
            } else if length > MEDIUM_TEXT {
                " class=\"m\""
            } else {
                ""
            };
            let shown = xml(&shown);
            let _ = match cell {
                Cell::Link { href, .. } => {
                    write!(out, "<td{class}><a href=\"{}\">{shown}</a></td>", xml(href))
                }
                Cell::Trend { values, .. } => {
                    write!(out, "<td{class}>{shown}{}</td>", svg::sparkline(values))
                }
                _ => write!(out, "<td{class}>{shown}</td>"),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::heads;

    fn table(rows: usize) -> Table {
        Table {
            id: "t".to_owned(),
            caption: String::new(),
            columns: heads(["n"]),
            rows: (0..rows as u64).map(|i| vec![Cell::count(i)]).collect(),
        }
    }

    /// Only a long table behind a picture may be cut to a box.
    #[test]
    fn tables_in_full_view_are_never_cut() {
        let document = |parts| Document {
            title: String::new(),
            label: String::new(),
            labels: Default::default(),
            simulated: false,
            notice: String::new(),
            tiles: Vec::new(),
            sections: vec![Section {
                id: "s".into(),
                title: "".into(),
                lead: String::new(),
                parts,
            }],
        };
        let behind_picture = |rows| {
            let mut out = String::new();
            render_folded(&mut out, &Label(&document(Vec::new()), ""), &table(rows));
            out
        };
        let boxed = |page: &str| page.contains("<div class=\"scroll tall\"");
        for rows in [1, SHORT_TABLE, SHORT_TABLE + 1, 2000] {
            assert!(
                !boxed(&render(&document(vec![Part::Table(table(rows))]))),
                "{rows} rows in full view"
            );
            assert_eq!(boxed(&behind_picture(rows)), rows > SHORT_TABLE, "{rows} rows");
        }
        // The box is what limits the height, on screens only.
        assert_eq!(STYLE.matches("max-height:32rem").count(), 1);
        assert!(STYLE.contains(".scroll{overflow-x:auto}.tall{overflow:auto;max-height:32rem}"));
        let (_, print) = STYLE.split_once("@media print").unwrap_or_default();
        assert!(print.contains(".scroll{overflow:visible;max-height:none}"));
    }
}
