/** The page's looks: light and dark as the reader's system is, narrow screens, paper. */
export const reportStyle = `
:root { color-scheme: light dark; --text: #1b1f24; --back: #ffffff; --soft: #f3f5f7; --line: #d5dae0; --mark: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8eaed; --back: #15181c; --soft: #20252b; --line: #3a424b; --mark: #56b4e9; }
  svg circle[fill='#0072b2'] { fill: var(--mark); }
  svg path[stroke='#0072b2'] { stroke: var(--mark); }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
header p { margin: 0 0 .8rem; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
a { color: var(--mark); }
a:focus-visible, .wide:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--back); padding: .3rem .6rem; }
.wide { overflow-x: auto; }
/* The heading above says the same to those who see it. */
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
table { border-collapse: collapse; min-width: min(34rem, 100%); font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem 1.4rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; font-weight: inherit; }
thead th { font-size: .85rem; opacity: .8; }
.right { text-align: right; white-space: nowrap; }
.bar { width: 22rem; min-width: 6rem; padding-right: 0; }
.bar i { display: block; height: .8rem; margin-top: .35rem; background: var(--mark); min-width: 1px; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
code { font-size: .92em; }
.quote { border-left: 3px solid var(--line); padding-left: .8rem; font-size: .9rem; opacity: .85; }
.verdict { font-size: 1.1rem; font-weight: 600; margin-top: 1.4rem; }
pre { background: var(--soft); border: 1px solid var(--line); padding: .5rem .8rem; overflow-x: auto; }
figure { margin: 1.2rem 0 2rem; }
figcaption { font-weight: 600; margin-bottom: .4rem; }
svg { display: block; width: 100%; min-width: 40rem; height: auto; }
#summary th { width: 16rem; }
@media (max-width: 40rem) {
  th, td { padding-right: .9rem; }
  .bar { width: 8rem; }
  tbody th { white-space: nowrap; }
  td:last-child:not(.right, .bar) { min-width: 11rem; }
  #summary th, #time th { min-width: 8rem; width: 8rem; white-space: normal; }
}
@media print {
  :root { color-scheme: light; --text: #000; --back: #fff; --soft: #fff; --line: #bbb; }
  nav, .skip { display: none; }
  figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
  .wide { overflow: visible; }
  svg { min-width: 0; }
  .bar i { print-color-adjust: exact; }
}
`;
