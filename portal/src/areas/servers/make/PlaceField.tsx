import { Radio } from '@mantine/core';
import { Loaded } from '../../../components/Loaded.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { serverMakingMessages as text } from '../../../messages/servers/making.ts';
import type { Draft } from './draft.ts';
import { usePlaces } from './queries.ts';

interface Props {
  readonly draft: Draft;
  onChange(node: string | null): void;
}

const ANYWHERE = '';

/** The host of a server: any, or one of those where it fits; the others say why it does not. */
export function PlaceField({ draft, onChange }: Props) {
  const places = usePlaces(draft);
  return (
    <Loaded query={places} rows={2}>
      {(nodes) => (
        <>
          {!nodes.some(({ fits }) => fits) && <Notice kind="warn">{text.fitsNowhere}</Notice>}
          <Radio.Group
            aria-label={text.where}
            value={draft.node ?? ANYWHERE}
            onChange={(node) => onChange(node === ANYWHERE ? null : node)}
          >
            <div className="stack">
              <Radio
                size="sm"
                value={ANYWHERE}
                label={text.anywhere}
                disabled={!nodes.some(({ fits }) => fits)}
              />
              {nodes.map(({ node, fits, reason }) => (
                <Radio
                  key={node}
                  size="sm"
                  value={node}
                  label={node}
                  description={reason ?? text.fits}
                  disabled={!fits}
                />
              ))}
            </div>
          </Radio.Group>
        </>
      )}
    </Loaded>
  );
}
