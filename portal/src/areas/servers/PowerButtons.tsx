import { notifications } from '@mantine/notifications';
import type { PowerSignal } from '@portcullis/core/game-servers/power.ts';
import { CircleStop, OctagonX, Play, RotateCw } from 'lucide-react';
import { ConfirmButton } from '../../components/forms/ConfirmButton.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { useWrite } from '../../components/forms/use-write.ts';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';
import { rightRefusal } from './server-right.ts';
import { type Powered, powerRefusal, SIGNALS } from './power.ts';

const text = messages.server.power;
const RIGHTS = {
  start: 'control.start',
  stop: 'control.stop',
  restart: 'control.restart',
  kill: 'control.stop',
} as const;
const ICONS = { start: Play, stop: CircleStop, restart: RotateCw, kill: OctagonX } as const;

interface Props {
  readonly uuid: string;
  readonly name: string;
  /** The caller's own to the server. */
  readonly rights: readonly string[];
  readonly server: Powered;
}

/** Each is enabled where the node would do something, and says why not otherwise. */
export function PowerButtons(props: Props) {
  return (
    <div className="row power" role="group" aria-label={text.title}>
      {SIGNALS.map((signal) => (
        <PowerButton key={signal} {...props} signal={signal} />
      ))}
    </div>
  );
}

function PowerButton({
  uuid,
  name,
  rights,
  server,
  signal,
}: Props & { readonly signal: PowerSignal }) {
  const { client } = useSession();
  const send = () => client.sendPowerSignal({ slice: uuid, body: { signal } });
  const sent = (): void => show(text.sent[signal], 'blue');
  const power = useWrite(send, { onDone: sent });
  const Icon = ICONS[signal];
  const button = {
    refusal: rightRefusal(rights, RIGHTS[signal]) ?? powerRefusal(signal, server),
    leftSection: <Icon size={15} aria-hidden="true" />,
    children: text.signals[signal],
  } as const;
  if (signal === 'kill') {
    const question = { title: text.killTitle(name), question: text.killText };
    return (
      <ConfirmButton
        {...button}
        {...question}
        confirm={text.killConfirm}
        write={send}
        onDone={sent}
      />
    );
  }
  const onError = ({ message }: Error): void => show(`${text.refused}: ${message}`, 'red');
  return (
    <RoleButton
      {...button}
      variant={signal === 'start' ? 'filled' : 'default'}
      loading={power.isPending}
      onClick={() => power.mutate(undefined, { onError })}
    />
  );
}

function show(message: string, color: string): void {
  notifications.show({ message, color, closeButtonProps: { 'aria-label': messages.close } });
}
