// entity contact add|remove|list

#include <algorithm>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/lookup.hpp"
#include "admin/output/render.hpp"
#include "lib/store/contacts/contacts.hpp"

namespace admin {

namespace {

constexpr std::string_view told_of_nothing = "-";

json::Object to_row(const store::ListedContact& listed) {
  const auto& contact = listed.contact;
  const auto kinds = contact.kinds.joined();
  return {{"entidad_id", contact.entity},
          {"numero", contact.number},
          {"correo", contact.address},
          {"avisos", kinds.empty() ? std::string(told_of_nothing) : kinds},
          {"confirmado", time_value(contact.confirmed)},
          {"rechazado", time_value(contact.refused)},
          {"rechazo", listed.refusal}};
}

/// The address as it is stored.
std::string read_address(const Arguments& arguments) try {
  return contacts::read_address(arguments.text("address").value());
} catch (const webhook::InvalidRequest&) {
  throw UsageError(
      "--address: expected an address like avisos@ejemplo.es, in ASCII, without a name or quotes");
}

contacts::KindSet read_kinds(const Arguments& arguments) {
  const auto text = arguments.text("kinds");
  if (!text) return contacts::KindSet::all();
  const auto kinds = contacts::KindSet::from_joined(*text);
  if (kinds.empty() || std::ranges::count(*text, ',') + 1 != std::ssize(kinds.kinds()))
    throw UsageError("--kinds: expected some of " + contacts::KindSet::all().joined());
  return kinds;
}

store::ListedContact find(store::Session& session, store::EntityId entity, std::string_view address) {
  for (const auto& listed : store::list_all_contacts(session, entity))
    if (listed.contact.address == address) return listed;
  throw Failure("entity " + to_string(entity) + " has no contact " + std::string(address) +
                ": `entity contact list " + to_string(entity) + "` shows its contacts");
}

Result add(Context& context, const Arguments& arguments) {
  const auto entity = require_entity(context.session, arguments.required_id());
  const store::WantedContact wanted{read_address(arguments), read_kinds(arguments)};
  const auto added = store::add_contact(context.session, entity.id, wanted);
  if (added == store::ContactAdded::full)
    throw Failure("entity " + to_string(entity.id) + " has " +
                  std::to_string(store::max_contacts_per_entity) +
                  " contacts already: `entity contact remove` removes one");
  Result result{to_row(find(context.session, entity.id, wanted.address)),
                wanted.address +
                    (added == store::ContactAdded::added ? " is a contact of entity "
                                                         : " was a contact already of entity ") +
                    to_string(entity.id) + " (" + entity.name +
                    "). It is confirmed: no code is mailed to it, because you vouch for it."};
  if (context.config.settings.mail.server.empty())
    result.note = "mail.server is empty: no mail is sent to any contact.";
  return result;
}

Result remove(Context& context, const Arguments& arguments) {
  const auto entity = require_entity(context.session, arguments.required_id());
  const auto listed = find(context.session, entity.id, read_address(arguments));
  store::remove_contact(context.session, entity.id, listed.contact.address);
  return {to_row(listed), listed.contact.address + " is no contact of entity " + to_string(entity.id) + " (" +
                              entity.name + ") any more."};
}

Result list(Context& context, const Arguments& arguments) {
  json::Array rows;
  for (const auto& listed : store::list_all_contacts(context.session, arguments.id("id")))
    rows.emplace_back(to_row(listed));
  return {std::move(rows)};
}

}  // namespace

std::vector<Command> contact_commands() {
  constexpr Option address{"address", "ADDRESS", "an e-mail address, avisos@ejemplo.es", true};
  return {
      {.words = "entity contact add",
       .summary = "Add an address of an entity for notices by mail, or change its kinds",
       .details =
           "The address is confirmed at once: no code is mailed to it. An entity has at most five.\n"
           "Kinds: fallo, desactivacion_proxima, desactivado, recuperado, certificado, secreto, token, "
           "entregas_fallidas.",
       .options = {.id = IdWord::required,
                   .options = {address,
                               {"kinds", "KINDS", "what it is told of, comma-separated (default: all)"}}},
       .example =
           "apientidades-admin entity contact add 7 --address avisos@ejemplo.es --kinds fallo,desactivado",
       .recorded = Recorded::in_transaction,
       .run = add},
      {.words = "entity contact remove",
       .summary = "Remove an address of an entity",
       .options = {.id = IdWord::required, .options = {address}},
       .example = "apientidades-admin entity contact remove 7 --address avisos@ejemplo.es",
       .recorded = Recorded::in_transaction,
       .run = remove},
      {.words = "entity contact list",
       .summary = "List addresses: entidad_id, numero, correo, avisos, confirmado, rechazado, rechazo",
       .options = {.id = IdWord::optional},
       .example = "apientidades-admin entity contact list 7",
       .recorded = Recorded::never,
       .run = list},
  };
}

}  // namespace admin
