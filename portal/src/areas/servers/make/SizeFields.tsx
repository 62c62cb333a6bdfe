import { NumberInput, Slider } from '@mantine/core';
import { formatCount, formatMib } from '../../../format.ts';
import { serverMakingMessages as text } from '../../../messages/servers/making.ts';
import { restOf, type Quota, SIZE_NAMES, type SizeName, SIZES } from './draft.ts';

interface Props {
  readonly quota: Quota;
  readonly values: Readonly<Record<SizeName, number>>;
  readonly errors: Readonly<Record<string, unknown>>;
  onChange(name: SizeName, value: number): void;
}

const MIB = 1024 * 1024;

/** An amount for people: `2 GiB`, `1.5 cores`. */
export function amountOf(name: SizeName, value: number): string {
  return name === 'cpu' ? text.cores(formatCount(value / 100)) : formatMib(value * MIB);
}

/** Memory, processor and disk of a server, each by a slider within what is left of the quota, or exactly. */
export function SizeFields({ quota, values, errors, onChange }: Props) {
  const left = restOf(quota);
  return (
    <div className="sizes">
      {SIZE_NAMES.map((name) => {
        const { step } = SIZES[name];
        const most = left[name];
        return (
          <div key={name} className="size">
            <NumberInput
              label={text.sizeLabel[name]}
              description={text.left(amountOf(name, most), amountOf(name, quota.limits[name]))}
              min={1}
              max={most}
              step={step}
              allowDecimal={false}
              clampBehavior="blur"
              thousandSeparator=","
              required
              value={values[name]}
              error={errors[`limits.${name}`] as string | undefined}
              onChange={(value) => onChange(name, Number(value))}
            />
            <Slider
              thumbLabel={text.sizes[name]}
              min={Math.min(step, most)}
              max={most}
              step={step}
              value={values[name]}
              label={(value) => amountOf(name, value)}
              onChange={(value) => onChange(name, value)}
            />
          </div>
        );
      })}
    </div>
  );
}
