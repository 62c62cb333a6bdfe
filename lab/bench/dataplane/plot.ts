/** The cost of a fleet of a size. Times are of a packet that is dropped, in nanoseconds. */
export interface Cost {
  readonly addresses: number;
  readonly rules: number;
  readonly loadMs: number;
  readonly edgeMib: number;
  readonly bareNs: number;
  readonly earlyNs: number;
  readonly nftablesNs: number;
}

export interface Line<T> {
  readonly label: string;
  readonly colour: string;
  readonly value: (cost: T) => number;
}

/** Two panels: by addresses (of ten rules), and by rules (of a thousand addresses). Both axes are logarithmic. */
export function plotCosts(costs: readonly Cost[]): string {
  const byAddress = costs.filter(({ rules }) => rules === 10);
  const byRule = costs
    .filter(({ addresses }) => addresses === 1_000)
    .toSorted((a, b) => a.rules - b.rules);
  const panels = [
    panel(
      0,
      byAddress,
      ({ addresses }) => addresses,
      TIMES,
      'addresses of 10 rules',
      'ns a packet',
    ),
    panel(
      1,
      byRule,
      ({ rules }) => rules,
      TIMES,
      'rules of each of 1,000 addresses',
      'ns a packet',
    ),
    panel(2, byAddress, ({ addresses }) => addresses, SIZES, 'addresses of 10 rules', 'MiB, ms'),
    panel(3, byRule, ({ rules }) => rules, SIZES, 'rules of each of 1,000 addresses', 'MiB, ms'),
  ];
  return drawing(panels);
}

export function drawing(panels: readonly string[]): string {
  const rows = Math.ceil(panels.length / 2);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * PANEL.width} ${rows * PANEL.height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
${panels.join('\n')}
</svg>
`;
}

const PANEL = { width: 440, height: 290, left: 60, right: 20, top: 50, bottom: 50 } as const;
const TIMES: readonly Line<Cost>[] = [
  { label: 'XDP', colour: '#0b6', value: ({ earlyNs }) => earlyNs },
  { label: 'nftables alone', colour: '#06c', value: ({ nftablesNs }) => nftablesNs },
  { label: 'bare ingress drop', colour: '#999', value: ({ bareNs }) => bareNs },
];
const SIZES: readonly Line<Cost>[] = [
  { label: 'start, ms', colour: '#c40', value: ({ loadMs }) => loadMs },
  { label: 'edge process, MiB', colour: '#06c', value: ({ edgeMib }) => edgeMib },
];

/** Lines over a logarithmic axis, in one of the places of a drawing, two in a row. */
export function panel<T>(
  place: number,
  costs: readonly T[],
  across: (cost: T) => number,
  lines: readonly Line<T>[],
  xLabel: string,
  yLabel: string,
): string {
  const { width, height, left, right, top, bottom } = PANEL;
  const values = lines.flatMap(({ value }) => costs.map(value));
  const x = scale(costs.map(across), left, width - right);
  const y = scale(values, height - bottom, top);
  const drawn = lines.map(({ label, colour, value }, index) => {
    const points = costs.map((cost) => `${x.at(across(cost))},${y.at(value(cost))}`);
    const dots = points.map((point) => {
      const [cx, cy] = point.split(',');
      return `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`;
    });
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}
<text x="${left + 10 + index * 125}" y="20" fill="${colour}">${label}</text>`;
  });
  const xTicks = [...new Set(costs.map(across))].map(
    (value) =>
      `<text x="${x.at(value)}" y="${height - bottom + 18}" text-anchor="middle">${value.toLocaleString('en')}</text>`,
  );
  const yTicks = y.ticks.map(
    (
      value,
    ) => `<line x1="${left}" x2="${width - right}" y1="${y.at(value)}" y2="${y.at(value)}" stroke="#ddd"/>
<text x="${left - 6}" y="${y.at(value) + 4}" text-anchor="end">${value.toLocaleString('en')}</text>`,
  );
  return `<g transform="translate(${(place % 2) * width} ${Math.floor(place / 2) * height})">
${yTicks.join('\n')}
${drawn.join('\n')}
${xTicks.join('\n')}
<text x="${(left + width - right) / 2}" y="${height - 12}" text-anchor="middle">${xLabel}</text>
<text x="${left}" y="${top - 12}" text-anchor="end">${yLabel}</text>
</g>`;
}

const TICKS = [1, 2, 5].flatMap((digit) => [0, 1, 2, 3, 4, 5].map((power) => digit * 10 ** power));

/** Logarithmic: from the round number below the least to the one above the greatest. */
function scale(values: readonly number[], from: number, to: number) {
  const sorted = TICKS.toSorted((a, b) => a - b);
  const least = sorted.findLast((tick) => tick <= Math.min(...values)) ?? 1;
  const most = sorted.find((tick) => tick >= Math.max(...values)) ?? Math.max(...values);
  const share = (value: number): number => Math.log(value / least) / Math.log(most / least);
  return {
    at: (value: number): number => Math.round(from + share(value) * (to - from)),
    ticks: sorted.filter((tick) => tick >= least && tick <= most),
  };
}
