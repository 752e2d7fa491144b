//! CSV, as RFC 4180 has it.

use csv::{ByteRecord, Reader, ReaderBuilder, Writer};

use super::Reading;
use super::column::Column;
use super::mistake::Mistake;
use super::row::Row;

/// The records of a file, each with its line.
struct Records<'a> {
    bytes: &'a [u8],
    reader: Reader<&'a [u8]>,
    /// Up to where lines are counted.
    counted: usize,
    line: u64,
}

/// Writes rows under headings.
pub(crate) struct CsvWriter {
    columns: Vec<Column>,
}

type Rows<'a> = Box<dyn Iterator<Item = Reading> + Send + 'a>;

/// The rows of a file.
pub(super) fn rows(bytes: &[u8]) -> Rows<'_> {
    let mut records = Records::new(bytes);
    let columns = match records.next() {
        Some(Ok((line, headings))) => columns(line, &headings),
        Some(Err(mistake)) => Err(vec![mistake]),
        None => Err(vec![Mistake::of_row(1, "there is no line of headings")]),
    };
    match columns {
        Err(mistakes) => Box::new(std::iter::once(Reading::wrong(mistakes))),
        Ok(columns) => Box::new(records.filter_map(move |record| match record {
            Err(mistake) => Some(Reading::wrong(vec![mistake])),
            // What a spreadsheet leaves below the table.
            Ok((_, record)) if record.iter().all(<[u8]>::is_empty) => None,
            Ok((line, record)) => Some(row(line, &record, &columns)),
        })),
    }
}

/// Reads the line of headings.
fn columns(line: u64, headings: &ByteRecord) -> Result<Vec<Column>, Vec<Mistake>> {
    let mut columns: Vec<Column> = Vec::new();
    let mut mistakes = Vec::new();
    for (number, heading) in (1..).zip(headings) {
        let heading = std::str::from_utf8(heading).map(str::trim).map_err(|_| "is not UTF-8".to_owned());
        let why = match heading.and_then(Column::read) {
            Ok(column) if columns.contains(&column) => "stands there twice".to_owned(),
            Ok(column) => {
                columns.push(column);
                continue;
            }
            Err(why) => why,
        };
        // By its number: a file without headings begins with somebody's key.
        mistakes.push(Mistake::new(line, format_args!("column {number}"), why));
    }
    if mistakes.is_empty() && !columns.contains(&Column::Name) {
        mistakes.push(Mistake::of_row(line, "the first line has the headings, and none of them is name"));
    }
    if mistakes.is_empty() && !columns.iter().any(Column::is_key) {
        mistakes.push(Mistake::of_row(line, "no heading is api-key or api-key-sha256"));
    }
    if mistakes.is_empty() { Ok(columns) } else { Err(mistakes) }
}

fn row(line: u64, record: &ByteRecord, columns: &[Column]) -> Reading {
    if record.len() != columns.len() {
        let message = format!("has {} cells, and there are {} headings", record.len(), columns.len());
        return Reading::wrong(vec![Mistake::of_row(line, message)]);
    }
    let mut row = Row::at(line);
    let mut mistakes = Vec::new();
    for (column, cell) in columns.iter().zip(record) {
        if cell.is_empty() {
            continue;
        }
        if let Err(why) = row.put(column, cell) {
            mistakes.push(Mistake::new(line, column, why));
        }
    }
    Reading { row: Some(row), mistakes }
}

// === impl Records ===

impl<'a> Records<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        Self { bytes, reader, counted: 0, line: 1 }
    }

    /// The line of a place in the file. Places come in their order.
    fn line_of(&mut self, place: usize) -> u64 {
        let passed = self.bytes.get(self.counted..place).unwrap_or_default();
        let lines = passed.iter().filter(|byte| **byte == b'\n').count();
        self.line = self.line.saturating_add(u64::try_from(lines).unwrap_or(u64::MAX));
        self.counted = place;
        self.line
    }
}

impl Iterator for Records<'_> {
    type Item = Result<(u64, ByteRecord), Mistake>;

    fn next(&mut self) -> Option<Self::Item> {
        let place = |reader: &Reader<_>| usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
        let mut record = ByteRecord::new();
        let from = place(&self.reader);
        let is_there = self.reader.read_byte_record(&mut record);
        let raw = self.bytes.get(from..place(&self.reader)).unwrap_or_default();
        // Line ends before it belong to the record before, or to nobody.
        let skipped = raw.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let quotes = raw.iter().filter(|byte| **byte == b'"').count();
        match is_there {
            Ok(false) => None,
            _ => {
                let line = self.line_of(from.saturating_add(skipped));
                if is_there.is_err() {
                    return Some(Err(Mistake::of_row(line, "cannot be read as CSV")));
                }
                // The reader would take the rest of the file for one cell.
                if !quotes.is_multiple_of(2) {
                    return Some(Err(Mistake::of_row(line, "a quote is not closed")));
                }
                Some(Ok((line, record)))
            }
        }
    }
}

// === impl CsvWriter ===

impl CsvWriter {
    /// Writes these columns, in the order in which people read them.
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        let mut columns: Vec<Column> = columns.into_iter().collect();
        columns.sort_by_cached_key(|column| (column.rank(), column.clone()));
        columns.dedup();
        Self { columns }
    }

    /// The line of headings, without a line end.
    pub(crate) fn headings(&self) -> anyhow::Result<String> {
        written(self.columns.iter().map(ToString::to_string))
    }

    /// A row, without a line end.
    pub(crate) fn row(&self, row: &Row) -> anyhow::Result<String> {
        written(self.columns.iter().map(|column| row.cell(column).unwrap_or_default()))
    }
}

fn written(cells: impl Iterator<Item = String>) -> anyhow::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(cells.map(String::into_bytes))?;
    let mut bytes = writer.into_inner().map_err(|_| anyhow::anyhow!("memory cannot be written"))?;
    bytes.pop();
    Ok(String::from_utf8(bytes)?)
}
