import { Button } from '@mantine/core';
import { type NotificationData, notifications } from '@mantine/notifications';
import { type KeyClient, NotEnforcedError } from '@portcullis/client/index.ts';
import type { ReactNode } from 'react';
import { messages } from '../../messages/index.ts';

const text = messages.accepted;
const UNDO_MS = 20_000;
const LIVE_MS = 6_000;
const SHOWN = { withBorder: true, closeButtonProps: { 'aria-label': messages.close } } as const;

export function showToast(toast: NotificationData): string {
  return notifications.show({ ...SHOWN, ...toast });
}

/** Offers for a while to take back what was just done. */
export function showUndo(done: string, undo: () => Promise<unknown>): void {
  const id = showToast({ autoClose: UNDO_MS, message: withUndo(done, undo, () => id) });
}

/** A sentence beside a button that takes back what it says. */
function withUndo(message: string, undo: () => Promise<unknown>, idOf: () => string): ReactNode {
  const takeBack = (): void => {
    notifications.hide(idOf());
    undo().catch(({ message }: Error) =>
      showToast({ color: 'red', title: messages.undo.failed, message }),
    );
  };
  return (
    <div className="undo">
      <span>{message}</span>
      <Button size="xs" variant="default" onClick={takeBack}>
        {messages.undo.button}
      </Button>
    </div>
  );
}

/** Says what a change did not do, until it is closed, and offers the act that does it. */
export function showOffer(
  message: string,
  act: string,
  failed: string,
  run: () => Promise<void>,
): void {
  const accept = (): void => {
    notifications.hide(id);
    run().catch(({ message }: Error) => showToast({ color: 'red', title: failed, message }));
  };
  const id = showToast({
    color: 'yellow',
    autoClose: false,
    message: (
      <div className="undo">
        <span>{message}</span>
        <Button size="xs" variant="default" onClick={accept}>
          {act}
        </Button>
      </div>
    ),
  });
}

interface Accepted {
  readonly text: string;
  readonly generation: number;
  /** The address that was written; absent: several. */
  readonly ip?: string;
  readonly undo?: (() => Promise<unknown>) | undefined;
}

/** Says that a change was accepted, and that it is live once every edge in service has it. */
export function showAccepted(
  client: KeyClient,
  { text: title, generation, ip, undo }: Accepted,
): void {
  const offer = (message: string): ReactNode =>
    undo === undefined ? message : withUndo(message, undo, () => id);
  const id = showToast({ title, message: offer(text.underway), loading: true, autoClose: false });
  const end = (text: string, color: string): void => {
    const message = offer(text);
    const autoClose = undo === undefined ? LIVE_MS : UNDO_MS;
    const ended = { title, message, color, loading: false, autoClose };
    notifications.update({ ...SHOWN, ...ended, id });
  };
  client.waitUntilLive(generation, ip === undefined ? {} : { ip }).then(
    () => end(text.live, 'green'),
    (error: unknown) =>
      error instanceof NotEnforcedError ? end(text.waiting, 'gray') : end(text.late, 'yellow'),
  );
}
