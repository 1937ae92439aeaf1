/**
 * The only script of a report's page: a heading sorts its table, by mouse or keyboard. Without it, the tables are as
 * written. A last row named `all` stays there, whatever the order, and so do cells without a value.
 */
export const sortScript = `
for (const table of document.querySelectorAll('table')) {
  const body = table.tBodies[0];
  const heads = body && body.rows.length > 1 && table.tHead ? [...table.tHead.rows[0].cells] : [];
  const last = body?.rows[body.rows.length - 1];
  heads.forEach((head, column) => {
    if (head.tagName !== 'TH' || head.textContent === '') return;
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute('aria-sort', 'none');
    const isNumber = head.classList.contains('right');
    button.onclick = () => {
      const before = head.getAttribute('aria-sort');
      const isDown = before === 'none' ? isNumber : before === 'ascending';
      for (const other of heads) if (other.hasAttribute('aria-sort')) other.setAttribute('aria-sort', 'none');
      head.setAttribute('aria-sort', isDown ? 'descending' : 'ascending');
      const rows = [...body.rows].map((row) => ({ row, text: row.cells[column]?.textContent ?? '' }));
      const rank = ({ row, text }) =>
        row === last && row.cells[0].textContent === 'all' ? 2 : ['', '-', 'NaN'].includes(text) ? 1 : 0;
      const compare = (a, b) =>
        isNumber ? numberIn(a.text) - numberIn(b.text) || 0 : a.text.localeCompare(b.text, 'en', { numeric: true });
      rows.sort((a, b) => rank(a) - rank(b) || (rank(a) > 0 ? 0 : isDown ? compare(b, a) : compare(a, b)));
      body.append(...rows.map(({ row }) => row));
    };
  });
}
function numberIn(text) {
  const units = { d: 86400, h: 3600, m: 60, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
  const [, whole, unit, rest, small] = /^(-?[\\d.]+(?:e[+-]?\\d+)?)\\s*([a-zA-Z]*)(?:(\\d+)([a-z]))?/.exec(text) ?? [];
  return Number(whole ?? -Infinity) * (units[unit] ?? 1) + Number(rest ?? 0) * (units[small] ?? 1);
}
`;

/** What the page's policy allows; a test compares it with the script. */
export const sortScriptHash = 'sha256-8eBrm7ZMfhp8YQveWHFLuTBsh+sLJKIMAytGJLDwzKE=';
