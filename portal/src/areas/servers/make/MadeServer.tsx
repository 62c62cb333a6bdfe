import { Button } from '@mantine/core';
import type { GameServerBuild } from '@portcullis/client/index.ts';
import { plainText } from '@portcullis/core/game-servers/console-text.ts';
import { useNavigate } from '@tanstack/react-router';
import { Check, LoaderCircle } from 'lucide-react';
import { CopyIcon } from '../../../components/CopyIcon.tsx';
import { ProblemNotice } from '../../../components/forms/ProblemNotice.tsx';
import { useWrite } from '../../../components/forms/use-write.ts';
import { Loaded } from '../../../components/Loaded.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { serverMakingMessages as text } from '../../../messages/servers/making.ts';
import { useSession } from '../../../session/session.ts';
import { placeOf } from '../place.ts';
import { useBuild, useServer } from '../queries.ts';
import { FilterOffers } from './FilterOffers.tsx';

interface Props {
  readonly uuid: string;
  onAgain(): void;
}

type Build = GameServerBuild['data'];

/** How far a new server is, with what its install writes; then where players connect, and the filters of its game. */
export function MadeServer({ uuid, onAgain }: Props) {
  const server = useServer(uuid);
  const build = useBuild(uuid);
  return (
    <Loaded query={server} inCard>
      {({ name, state }) => (
        <Loaded query={build} inCard>
          {(read) => (
            <section className="card card-pad stack" aria-label={text.title}>
              <div role="status">
                <h2>{titleOf(name, read)}</h2>
              </div>
              <Steps state={read.state} />
              {read.state === 'failed' && <Notice kind="bad">{read.reason}</Notice>}
              {read.state !== 'failed' && read.reason !== null && (
                <Notice kind="info">{read.reason}</Notice>
              )}
              {read.state === 'built' ? <Ready build={read} state={state} /> : <Log build={read} />}
              <Buttons uuid={uuid} build={read} state={state} onAgain={onAgain} />
            </section>
          )}
        </Loaded>
      )}
    </Loaded>
  );
}

function titleOf(name: string, { state }: Build): string {
  if (state === 'built') return text.made.ready(name);
  return state === 'failed' ? text.made.failed(name) : text.made.title(name);
}

const STEPS = ['waiting', 'building', 'built'] as const;

function Steps({ state }: Pick<Build, 'state'>) {
  const at = STEPS.findIndex((step) => step === state);
  return (
    <ol className="steps">
      {STEPS.map((step, index) => {
        const isDone = index < at || state === 'built';
        return (
          <li
            key={step}
            data-done={isDone || undefined}
            data-now={(index === at && !isDone) || undefined}
          >
            {isDone ? (
              <Check size={16} aria-hidden="true" />
            ) : (
              <LoaderCircle size={16} aria-hidden="true" />
            )}
            {text.made.steps[step]}
          </li>
        );
      })}
    </ol>
  );
}

function Log({ build: { log } }: { readonly build: Build }) {
  return (
    <>
      <h3>{text.made.log}</h3>
      {log === null || log === '' ? (
        <p className="dim">{text.made.noLog}</p>
      ) : (
        <pre className="log" tabIndex={0} aria-label={text.made.log}>
          {log.split('\n').map(plainText).join('\n')}
        </pre>
      )}
    </>
  );
}

interface ReadyProps {
  readonly build: Build;
  readonly state: string | null;
}

function Ready({ build }: ReadyProps) {
  const place = placeOf(build.allocation);
  return (
    <>
      <div>
        <div className="dim">{text.made.address}</div>
        <div className="row">
          <strong className="mono address-large">{place}</strong>
          <CopyIcon value={place} label={text.made.copy} />
        </div>
      </div>
      <FilterOffers suggested={build.suggested_filters} />
    </>
  );
}

interface ButtonsProps extends ReadyProps {
  readonly uuid: string;
  onAgain(): void;
}

function Buttons({ uuid, build, state, onAgain }: ButtonsProps) {
  const { client } = useSession();
  const navigate = useNavigate();
  const start = useWrite(() => client.sendPowerSignal({ slice: uuid, body: { signal: 'start' } }));
  const open = (tab: 'console' | 'build'): void =>
    void navigate({ to: '/servers/$uuid', params: { uuid }, search: { tab } });
  const isStarted = start.isSuccess || (state !== null && state !== 'offline');
  return (
    <>
      <ProblemNotice error={start.error} />
      <div className="row">
        {build.state === 'built' && (
          <Button loading={start.isPending} disabled={isStarted} onClick={() => start.mutate()}>
            {isStarted ? text.made.started : text.made.start}
          </Button>
        )}
        <Button
          variant="default"
          onClick={() => open(build.state === 'built' ? 'console' : 'build')}
        >
          {build.state === 'failed' ? text.made.again : text.made.open}
        </Button>
        <Button variant="subtle" color="gray" onClick={onAgain}>
          {text.made.more}
        </Button>
      </div>
    </>
  );
}
