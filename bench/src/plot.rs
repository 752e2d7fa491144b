//! The results as plots. A plot is drawn where there is more than one number of keys: each shows how
//! something grows with it.

use std::ops::Range;
use std::path::Path;

use anyhow::anyhow;
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::requests::{ALLOWED, BY_ENVOY, BY_UPSTREAM, EXT_AUTHZ, KEYWARD, NATIVE, NONE, OPEN_ROUTE};
use crate::results::{Request, Results};

const SIZE: (u32, u32) = (860, 460);
const FONT: &str = "sans-serif";
/// Distinct for people who see fewer colours too (Okabe and Ito).
const COLOURS: [RGBColor; 4] =
    [RGBColor(120, 120, 120), RGBColor(230, 159, 0), RGBColor(204, 121, 167), RGBColor(0, 114, 178)];

/// Values of one peer by the number of keys.
struct Line {
    name: String,
    colour: RGBColor,
    points: Vec<(f64, f64)>,
}

/// One picture.
struct Plot {
    title: String,
    unit: &'static str,
    lines: Vec<Line>,
}

/// Draws what there is into a folder.
pub(crate) fn draw(results: &Results, out: &Path) -> anyhow::Result<()> {
    let requests = &results.requests;
    for (file, title, answer) in [
        ("cpu-direct.svg", "CPU time of an allowed request, answered by Envoy", BY_ENVOY),
        ("cpu-upstream.svg", "CPU time of an allowed request, with an upstream", BY_UPSTREAM),
    ] {
        let lines = peers(requests, answer, |row| row.cpu_us + row.beside_us);
        let plot = Plot { title: title.to_owned(), unit: "microseconds a request", lines };
        plot.write(&out.join(file))?;
    }
    let lines = peers(requests, BY_ENVOY, |row| row.envoy_mib);
    let plot = Plot { title: "Resident memory of Envoy".to_owned(), unit: "MiB", lines };
    plot.write(&out.join("memory.svg"))?;
    let mut lines = Vec::new();
    let mut shapes: Vec<(usize, bool)> =
        results.revocations.iter().map(|row| (row.envoys, row.under_load)).collect();
    shapes.sort_unstable();
    shapes.dedup();
    for ((envoys, under_load), colour) in shapes.into_iter().zip(COLOURS.into_iter().rev().cycle()) {
        let of =
            results.revocations.iter().filter(|row| (row.envoys, row.under_load) == (envoys, under_load));
        let what = if under_load { "under load" } else { "idle" };
        let name = format!("{envoys} Envoys, {what}, p99");
        lines.push(Line {
            name,
            colour,
            points: of.map(|row| (row.keys as f64, row.confirmed_ms.p99)).collect(),
        });
    }
    let title = "From the API call to the confirmation of the last worker".to_owned();
    Plot { title, unit: "milliseconds", lines }.write(&out.join("revocation.svg"))
}

fn peers(rows: &[Request], answer: &str, value: fn(&Request) -> f64) -> Vec<Line> {
    let cases = [(NONE, OPEN_ROUTE), (NATIVE, ALLOWED), (EXT_AUTHZ, ALLOWED), (KEYWARD, ALLOWED)];
    let line = |((peer, case), colour): ((&str, &str), RGBColor)| {
        let of = rows.iter().filter(|row| row.peer == peer && row.case == case && row.answer == answer);
        Line { name: peer.to_owned(), colour, points: of.map(|row| (row.keys as f64, value(row))).collect() }
    };
    cases.into_iter().zip(COLOURS).map(line).collect()
}

fn grouped(number: &f64) -> String {
    match *number {
        number if number >= 1e6 => format!("{}M", number / 1e6),
        number if number >= 1e3 => format!("{}k", number / 1e3),
        number => format!("{number}"),
    }
}

// === impl Plot ===

impl Plot {
    fn write(&self, path: &Path) -> anyhow::Result<()> {
        let points = || self.lines.iter().flat_map(|line| line.points.iter());
        let keys = points().fold(f64::MAX..f64::MIN, |range, (x, _)| range.start.min(*x)..range.end.max(*x));
        if keys.start >= keys.end {
            return Ok(());
        }
        let top = points().map(|(_, y)| *y).fold(0.0, f64::max) * 1.1;
        let drawn = self.on(&SVGBackend::new(path, SIZE).into_drawing_area(), keys, top);
        drawn.map_err(|error| anyhow!("{} could not be drawn: {error}", path.display()))
    }

    fn on<D: DrawingBackend>(
        &self,
        area: &DrawingArea<D, Shift>,
        keys: Range<f64>,
        top: f64,
    ) -> Result<(), DrawingAreaErrorKind<D::ErrorType>> {
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FONT, 20))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(keys.log_scale(), 0.0..top)?;
        chart
            .configure_mesh()
            .x_desc("keys")
            .y_desc(self.unit)
            .x_label_formatter(&grouped)
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 14))
            .draw()?;
        for line in &self.lines {
            let style = line.colour.stroke_width(2);
            let points = line.points.iter().copied();
            let legend = move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], style);
            chart.draw_series(LineSeries::new(points.clone(), style))?.label(&line.name).legend(legend);
            chart.draw_series(points.map(|point| Circle::new(point, 3, line.colour.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.2))
            .label_font((FONT, 14))
            .draw()
    }
}
