import { useEffect, useRef } from 'react';
import { useComputedColorScheme } from '@mantine/core';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatClock, formatCompact } from '../format.ts';

interface Props {
  /** Said to those who do not see it. */
  readonly label: string;
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly values: readonly number[];
  readonly height?: number;
}

/** Values over time as columns, in the viewer's zone and in the colours of the theme. */
export function Chart({ label, times, values, height = 200 }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const plot = new uPlot(
      optionsOf(element, height),
      [Float64Array.from(times), Float64Array.from(values)],
      element,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [times, values, height, scheme]);
  return <div ref={host} className="chart" role="img" aria-label={label} />;
}

function optionsOf(element: HTMLElement, height: number): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--ink-dim'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
    font: `11px ${style.fontFamily}`,
  };
  const bars = uPlot.paths.bars?.({ size: [0.8, 24] });
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false },
    series: [
      {},
      {
        fill: colour('--bad'),
        stroke: colour('--bad'),
        width: 0,
        points: { show: false },
        ...(bars && { paths: bars }),
      },
    ],
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, values: (_plot, ticks) => ticks.map(formatClock) },
      { ...axis, size: 52, values: (_plot, ticks) => ticks.map(formatCompact) },
    ],
  };
}
