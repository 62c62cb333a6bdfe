import { Button, Progress } from '@mantine/core';
import { useWrite } from '../../../components/forms/use-write.ts';
import { CommandBlock } from '../../../components/CommandBlock.tsx';
import { ProblemNotice } from '../../../components/forms/ProblemNotice.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { serverFormMessages as text } from '../../../messages/servers/form.ts';
import { personClient } from '../../../session/session.ts';
import type { EggHost } from './draft.ts';
import { useImage } from './queries.ts';

/** Why a host cannot run an egg yet, and what to do: commands, or the image that is made from here. */
export function HostNotice({ host }: { readonly host: EggHost }) {
  const { node, reason, commands, image: name } = host;
  const image = useImage(node, name);
  const make = useWrite(() => personClient.makeImage({ name: node, image: name ?? '' }));
  const isBuilding = image?.state === 'building';
  const { step, percent } = image ?? { step: null, percent: null };
  return (
    <Notice kind={image?.state === 'failed' ? 'bad' : 'info'}>
      <div className="stack host-notice">
        {isBuilding ? (
          <div>
            <p role="status">{text.progress(step ?? '', percent ?? 0)}</p>
            <Progress value={Math.max(percent ?? 0, 2)} animated aria-label={step ?? text.make} />
          </div>
        ) : (
          <p>{reason}</p>
        )}
        {name === null ? (
          <>
            <div>
              <p className="dim">{text.on(node)}</p>
              <CommandBlock commands={commands} />
            </div>
            <p className="dim">{text.again}</p>
          </>
        ) : (
          !isBuilding && (
            <div className="row">
              <Button loading={make.isPending} onClick={() => make.mutate()}>
                {image?.state === 'failed' ? text.makeAgain : text.make}
              </Button>
            </div>
          )
        )}
        <ProblemNotice error={make.error} />
      </div>
    </Notice>
  );
}
