import { Button } from '@mantine/core';
import type { Webhook, WebhookSecret } from '@portcullis/client/index.ts';
import { useState } from 'react';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { ProblemNotice } from '../../../components/forms/ProblemNotice.tsx';
import { useWrite } from '../../../components/forms/use-write.ts';
import { WriteDialog } from '../../../components/forms/WriteDialog.tsx';
import { formatMoment } from '../../../format.ts';
import { webhookMessages } from '../../../messages/webhooks.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { DeliveryLog } from './DeliveryLog.tsx';
import { EVENTS, isSigned, WEBHOOKS } from './queries.ts';
import { WebhookForm } from './WebhookForm.tsx';

const text = webhookMessages.webhooks;

interface Props {
  readonly webhook: Webhook;
  onSecret(secret: WebhookSecret['data']): void;
}

/** A webhook with what can be done with it, and its deliveries. */
export function WebhookCard({ webhook, onSecret }: Props) {
  const [open, setOpen] = useState<'edit' | 'delete' | null>(null);
  const [isLogOpen, setLogOpen] = useState(false);
  const client = usePeopleClient();
  const { id, name, url, format, events, enabled, pending } = webhook;
  const close = (): void => setOpen(null);
  const test = useWrite(() => client.testWebhook({ webhook: id }), {
    onDone: () => setLogOpen(true),
  });
  const toggle = useWrite(() => {
    const known = EVENTS.filter((event) => events.includes(event));
    return client.saveWebhook({
      webhook: id,
      body: { name, url, events: known, enabled: !enabled },
    });
  });
  return (
    <article className="card" aria-label={name}>
      <div className="card-pad stack">
        <div className="row">
          <h2 className="flat">{name}</h2>
          <Pill tone={enabled ? 'ok' : 'neutral'}>{enabled ? text.enabled : text.disabled}</Pill>
          <Pill tone="neutral">{text.format(format)}</Pill>
          {pending > 0 && (
            <Pill tone="warn" moving>
              {text.pending(pending)}
            </Pill>
          )}
          <div className="row-end">
            <Button
              variant="default"
              size="compact-sm"
              loading={test.isPending}
              onClick={() => test.mutate()}
            >
              {text.test}
            </Button>
            <Button variant="default" size="compact-sm" onClick={() => setOpen('edit')}>
              {text.edit}
            </Button>
            <Button
              variant="default"
              size="compact-sm"
              loading={toggle.isPending}
              onClick={() => toggle.mutate()}
            >
              {enabled ? text.disable : text.enable}
            </Button>
            {isSigned(format) && <NewSecret webhook={webhook} onSecret={onSecret} />}
            <Button
              variant="subtle"
              color="red"
              size="compact-sm"
              onClick={() => setOpen('delete')}
            >
              {text.remove}
            </Button>
          </div>
        </div>
        <Description webhook={webhook} />
        <ProblemNotice error={test.error ?? toggle.error} />
        <div className="row">
          <Button
            variant="subtle"
            size="compact-sm"
            aria-expanded={isLogOpen}
            onClick={() => setLogOpen(!isLogOpen)}
          >
            {isLogOpen ? text.hideLog : text.showLog}
          </Button>
        </div>
      </div>
      {open === 'edit' && <WebhookForm webhook={webhook} onClose={close} />}
      {isLogOpen && <DeliveryLog webhook={webhook} />}
      {open === 'delete' && <Delete webhook={webhook} onClose={close} />}
    </article>
  );
}

function NewSecret({ webhook: { id, name }, onSecret }: Props) {
  const client = usePeopleClient();
  return (
    <ConfirmButton
      size="compact-sm"
      title={text.rotateTitle(name)}
      question={text.rotateText}
      write={async () => (await client.rotateWebhookSecret({ webhook: id })).data}
      onDone={onSecret}
    >
      {text.rotate}
    </ConfirmButton>
  );
}

interface DeleteProps {
  readonly webhook: Webhook;
  onClose(): void;
}

function Delete({ webhook: { id, name }, onClose }: DeleteProps) {
  const client = usePeopleClient();
  return (
    <WriteDialog
      title={text.removeTitle(name)}
      submit={text.remove}
      isFinal
      write={() => client.deleteWebhook({ webhook: id })}
      removes={[...WEBHOOKS, id]}
      onClose={onClose}
    >
      {text.removeText}
    </WriteDialog>
  );
}

function Description({ webhook }: { readonly webhook: Webhook }) {
  const {
    url,
    format,
    events,
    enabled,
    disabled_reason: reason,
    previous_secret_until: until,
  } = webhook;
  return (
    <>
      <div className="mono dim wrap">{url}</div>
      <div className="pills">
        {events.map((event) => (
          <Pill key={event} tone="neutral" plain>
            {text.eventNames[event] ?? event}
          </Pill>
        ))}
      </div>
      {!enabled && reason !== null && <Notice kind="warn">{text.why(reason)}</Notice>}
      {until !== null && isSigned(format) && (
        <Notice kind="info">{text.twoSecrets(formatMoment(new Date(until)))}</Notice>
      )}
    </>
  );
}
