import { useEffect, useRef } from 'react';
import { useComputedColorScheme } from '@mantine/core';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatCompact, formatTick } from '../../format.ts';

/** A tone names the colours of the theme, so that a meaning looks the same everywhere. */
export type Tone = 'accent' | 'ok' | 'warn' | 'bad';

export interface Series {
  /** One for each of the times; null where nothing was measured. */
  readonly values: readonly (number | null)[];
  readonly tone: Tone;
  /** Lines of one chart differ by more than colour. */
  readonly as: 'columns' | 'line' | 'dotted-line';
  /** The bounds of the measurement's error, drawn as a band. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
}

/** A moment that is marked in the chart. */
export interface Mark {
  /** Unix seconds. */
  readonly at: number;
  readonly label: string;
  readonly tone: Tone;
}

interface Props {
  /** Said to those who do not see it. */
  readonly label: string;
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** A value to compare with, drawn as a dashed line. */
  readonly threshold?: number | null;
  readonly marks?: readonly Mark[];
  readonly height?: number;
  /** Values are bytes that are shown in powers of two. */
  readonly isBinary?: boolean;
  format?(value: number): string;
}

/** Steps between labels: whole numbers, because what is shown is counted. */
const DECIMAL = Array.from({ length: 16 }, (_, power) =>
  [1, 2, 5].map((of) => of * 10 ** power),
).flat();
const BINARY = Array.from({ length: 50 }, (_, power) => 2 ** power);
/** Room for the time of a label, which would run into the next one. */
const TIME_PX = 92;

const NO_MARKS: readonly Mark[] = [];

/** Values over time, in the viewer's zone and in the colours of the theme. Memoise `times`, `series` and `marks`. */
export function Chart(props: Props) {
  const { label, times, series, threshold = null, marks = NO_MARKS } = props;
  const { height = 200, isBinary = false, format = formatCompact } = props;
  const host = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const plot = new uPlot(
      optionsOf(element, { series, threshold, marks, height, isBinary, format }),
      [Array.from(times), ...columnsOf(series)],
      element,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [times, series, threshold, marks, height, isBinary, format, scheme]);
  return <div ref={host} className="chart" role="img" aria-label={label} />;
}

type Column = (number | null)[];

/** A series with bounds takes three columns: its high bound, its low bound, itself. */
function columnsOf(series: readonly Series[]): Column[] {
  return series.flatMap(({ values, low, high }) =>
    low !== undefined && high !== undefined
      ? [Array.from(high), Array.from(low), Array.from(values)]
      : [Array.from(values)],
  );
}

type Shape = Required<Pick<Props, 'series' | 'marks' | 'height' | 'isBinary' | 'format'>> & {
  readonly threshold: number | null;
};

function optionsOf(element: HTMLElement, shape: Shape): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: colour('ink-dim'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1 },
    font: `11px ${style.fontFamily}`,
  };
  const plotted: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const { tone, as, low, high } of shape.series) {
    if (low !== undefined && high !== undefined) {
      bands.push({ series: [plotted.length, plotted.length + 1], fill: `${colour(tone)}33` });
      plotted.push(bound(), bound());
    }
    plotted.push(
      as === 'columns' ? columns(colour(tone)) : line(colour(tone), as === 'line' ? [] : [2, 3]),
    );
  }
  const { threshold, marks, height, isBinary, format } = shape;
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false },
    // Half of the last label stands beyond the end of the axis.
    padding: [null, 40, null, null],
    series: plotted,
    bands,
    scales: {
      y: { range: (_plot, _min, max) => [0, Math.max(1, max ?? 0, threshold ?? 0) * 1.1] },
    },
    axes: [
      {
        ...axis,
        space: TIME_PX,
        values: (plot, ticks, _axis, _space, step) => ticksOf(plot, ticks, step),
      },
      {
        ...axis,
        incrs: isBinary ? BINARY : DECIMAL,
        size: (_plot, values) => widthOf(values ?? []),
        values: (_plot, ticks) => ticks.map(format),
      },
    ],
    hooks: {
      draw: [
        (plot) => {
          if (threshold !== null) drawThreshold(plot, threshold, colour('bad'));
          for (const mark of marks) drawMark(plot, mark, colour(mark.tone), axis.font);
        },
      ],
    },
  };
}

/** The width of the longest label, in pixels, with its tick. */
function widthOf(labels: readonly string[]): number {
  return 22 + 6.5 * Math.max(4, ...labels.map(({ length }) => length));
}

function ticksOf(plot: uPlot, ticks: readonly number[], step: number): string[] {
  const { min, max } = plot.scales['x'] ?? {};
  const span = (max ?? 0) - (min ?? 0);
  return ticks.map((tick) => formatTick(tick, { span, step }));
}

const bound = (): uPlot.Series => ({ width: 0, points: { show: false } });

const line = (stroke: string, dash: number[]): uPlot.Series => ({
  stroke,
  dash,
  width: 1.5,
  points: { show: false },
});

function columns(fill: string): uPlot.Series {
  const paths = uPlot.paths.bars?.({ size: [0.8, 24] });
  return { fill, stroke: fill, width: 0, points: { show: false }, ...(paths && { paths }) };
}

function drawThreshold(plot: uPlot, threshold: number, stroke: string): void {
  const { ctx, bbox } = plot;
  const y = plot.valToPos(threshold, 'y', true);
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.setLineDash([6, 4]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

/** A line at a moment, with its name at the top, on the side where there is room. */
function drawMark(plot: uPlot, { at, label }: Mark, stroke: string, font: string): void {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(at, 'x', true);
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.fillStyle = stroke;
  ctx.lineWidth = scale;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.font = font.replace('11px', `${11 * scale}px`);
  const isLate = x > bbox.left + bbox.width / 2;
  ctx.textAlign = isLate ? 'right' : 'left';
  ctx.textBaseline = 'top';
  ctx.fillText(label, x + (isLate ? -4 : 4) * scale, bbox.top + 2 * scale);
  ctx.restore();
}
