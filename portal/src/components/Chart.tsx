import { useEffect, useRef } from 'react';
import { useComputedColorScheme } from '@mantine/core';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatClock, formatCompact } from '../format.ts';

/** A tone names the colours of the theme, so that a meaning looks the same everywhere. */
export type Tone = 'accent' | 'ok' | 'warn' | 'bad';

export interface Series {
  /** One for each of the times; null where nothing was measured. */
  readonly values: readonly (number | null)[];
  readonly tone: Tone;
  readonly as: 'columns' | 'line';
  /** The bounds of the measurement's error, drawn as a band. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
}

interface Props {
  /** Said to those who do not see it. */
  readonly label: string;
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** A value to compare with, drawn as a dashed line. */
  readonly threshold?: number | null;
  readonly height?: number;
  format?(value: number): string;
}

/** Values over time, in the viewer's zone and in the colours of the theme. Memoise `times` and `series`. */
export function Chart(props: Props) {
  const { label, times, series, threshold = null, height = 200, format = formatCompact } = props;
  const host = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const plot = new uPlot(
      optionsOf(element, { series, threshold, height, format }),
      [Array.from(times), ...columnsOf(series)],
      element,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [times, series, threshold, height, format, scheme]);
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

type Shape = Required<Pick<Props, 'series' | 'height' | 'format'>> & {
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
    plotted.push(as === 'columns' ? columns(colour(tone)) : line(colour(tone)));
  }
  const { threshold, height, format } = shape;
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false },
    series: plotted,
    bands,
    scales: {
      y: { range: (_plot, _min, max) => [0, Math.max(1, max ?? 0, threshold ?? 0) * 1.1] },
    },
    axes: [
      { ...axis, values: (_plot, ticks) => ticks.map(formatClock) },
      { ...axis, size: 60, values: (_plot, ticks) => ticks.map(format) },
    ],
    hooks:
      threshold === null ? {} : { draw: [(plot) => drawThreshold(plot, threshold, colour('bad'))] },
  };
}

const bound = (): uPlot.Series => ({ width: 0, points: { show: false } });

const line = (stroke: string): uPlot.Series => ({ stroke, width: 1.5, points: { show: false } });

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
