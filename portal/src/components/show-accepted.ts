import { notifications } from '@mantine/notifications';
import type { KeyClient } from '@portcullis/client/index.ts';
import { messages } from '../messages/index.ts';

const text = messages.accepted;

/** Says that a change was accepted, and that it is live once every edge in service has it. */
export function showAccepted(
  client: Pick<KeyClient, 'waitUntilLive'>,
  title: string,
  generation: number,
): void {
  const shown = { title, withBorder: true, closeButtonProps: { 'aria-label': messages.close } };
  const id = notifications.show({
    ...shown,
    message: text.underway,
    loading: true,
    autoClose: false,
  });
  const end = (message: string, color: string): void =>
    void notifications.update({ ...shown, id, message, color, loading: false, autoClose: 6_000 });
  client.waitUntilLive(generation).then(
    () => end(text.live, 'green'),
    () => end(text.late, 'yellow'),
  );
}
