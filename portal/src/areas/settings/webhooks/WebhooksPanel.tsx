import type { WebhookSecret } from '@portcullis/client/index.ts';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { messages } from '../../../messages/index.ts';
import { useWebhooks } from './queries.ts';
import { WebhookCard } from './WebhookCard.tsx';
import { WebhookForm } from './WebhookForm.tsx';

const text = messages.webhooks;

/** Where the organisation's events are sent to. */
export default function WebhooksPanel() {
  const webhooks = useWebhooks();
  const [isAdding, setAdding] = useState(false);
  const [secret, setSecret] = useState<WebhookSecret['data'] | null>(null);
  return (
    <div className="stack">
      <section className="card" aria-label={text.title}>
        <div className="tools card-pad">
          <p className="dim flat grow-text">{text.lead}</p>
          <div className="row-end">
            <RoleButton
              needs="admin"
              leftSection={<Plus size={15} aria-hidden="true" />}
              onClick={() => setAdding(true)}
            >
              {text.create}
            </RoleButton>
          </div>
        </div>
        {isAdding && (
          <WebhookForm
            webhook={null}
            onClose={() => setAdding(false)}
            onSaved={(made) => {
              setAdding(false);
              setSecret(made);
            }}
          />
        )}
        <Loaded query={webhooks}>
          {(list) =>
            list.length === 0 && !isAdding ? (
              <EmptyState icon={WebhookIcon} title={text.empty.title} text={text.empty.text} />
            ) : null
          }
        </Loaded>
      </section>
      {webhooks.data?.map((webhook) => (
        <WebhookCard key={webhook.id} webhook={webhook} onSecret={setSecret} />
      ))}
      {secret !== null && (
        <SecretOnce title={text.secretTitle} secret={secret.secret} onClose={() => setSecret(null)}>
          {text.secretText}
        </SecretOnce>
      )}
    </div>
  );
}
