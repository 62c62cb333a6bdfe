import type { ServerSettings } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { Lock, RotateCw } from 'lucide-react';
import { lazy } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { serverSettingsMessages as text } from '../../../messages/servers/settings.ts';
import { useSession } from '../../../session/session.ts';
import ReinstallButton from '../ReinstallButton.tsx';
import { rightRefusal } from '../server-right.ts';
import { SettingsForm } from './SettingsForm.tsx';

const OperatorSettings = lazy(() => import('../form/ServerSettings.tsx'));
/** Settings that wait for a restart are read again this often. */
const LOOK_MS = 5_000;

interface Props {
  readonly uuid: string;
  readonly name: string;
  /** The caller's own rights to the server. */
  readonly rights: readonly string[];
}

/** The settings of a server for its people, and for operators its limits. */
export default function SettingsPanel(props: Props) {
  const { person } = useSession();
  const refusal = rightRefusal(props.rights, 'startup.read');
  return (
    <div className="stack">
      {refusal === null ? (
        <Shown {...props} />
      ) : (
        <EmptyState inCard icon={Lock} {...text.refused} text={refusal} />
      )}
      {person?.operator === true && <OperatorSettings uuid={props.uuid} />}
    </div>
  );
}

function Shown({ uuid, name, rights }: Props) {
  const { client } = useSession();
  const settings = useQuery({
    queryKey: ['server', uuid, 'people-settings'],
    queryFn: ({ signal }) => client.readServerSettings({ slice: uuid }, { signal }),
    refetchInterval: LOOK_MS,
  });
  return (
    <>
      <Loaded query={settings} rows={8} inCard>
        {({ data, meta, response }) => (
          <>
            <Waiting uuid={uuid} name={name} rights={rights} meta={meta} data={data} />
            <SettingsForm key={uuid} uuid={uuid} settings={data} etag={response.etag} />
          </>
        )}
      </Loaded>
      <section className="card card-pad stack" aria-label={text.again}>
        <h2>{text.again}</h2>
        <p className="flat">{text.againLead}</p>
        <div className="row">
          <ReinstallButton uuid={uuid} name={name} rights={rights} />
        </div>
      </section>
    </>
  );
}

interface WaitingProps extends Props {
  readonly meta: ServerSettings['meta'];
  readonly data: ServerSettings['data'];
}

/** Says which settings wait for a restart, and restarts. */
function Waiting({ uuid, name, rights, meta, data: { variables } }: WaitingProps) {
  const { client } = useSession();
  const { at_next_start: waiting } = meta;
  if (waiting === null || waiting.length === 0) return null;
  const called = new Map(variables.map((one) => [`/variables/${one.env}`, one.name]));
  const nameOf = (pointer: string): string =>
    called.get(pointer) ?? text.parts[pointer.slice(1)] ?? pointer.replace('/variables/', '');
  return (
    <Notice kind="warn">
      <span className="row">
        {text.waiting(waiting.map(nameOf))}
        <ConfirmButton
          size="compact-sm"
          refusal={rightRefusal(rights, 'control.restart')}
          leftSection={<RotateCw size={15} aria-hidden="true" />}
          title={text.restartTitle(name)}
          question={text.restartText}
          write={() => client.sendPowerSignal({ slice: uuid, body: { signal: 'restart' } })}
        >
          {text.restartNow}
        </ConfirmButton>
      </span>
    </Notice>
  );
}
