#include "lib/webhook/event.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(event)

namespace {

using webhook::Event;
using webhook::EventSet;

const std::vector<std::string_view> names_in_spec_order{
    "evaluacion.abierta",          "evaluacion.prorroga",        "evaluacion.cierre_proximo",
    "evaluacion.cerrada",          "resultados.provisionales",   "resultados.definitivos",
    "alegaciones.periodo_abierto", "alegaciones.periodo_cierre", "incidencia.respuesta",
    "incidencia.cerrada",          "documento.disponible"};

}  // namespace

BOOST_AUTO_TEST_CASE(the_catalogue_is_the_spec_s) {
  std::vector<std::string_view> names;
  for (const Event event : webhook::all_events()) names.push_back(webhook::name(event));
  BOOST_TEST(names == names_in_spec_order, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_name_leads_back_to_its_event) {
  BOOST_TEST((webhook::find_event("evaluacion.abierta") == Event::evaluacion_abierta));
  BOOST_TEST((webhook::find_event("alegaciones.periodo_cierre") == Event::alegaciones_periodo_cierre));
  BOOST_TEST((webhook::find_event("documento.disponible") == Event::documento_disponible));
  for (const Event event : webhook::all_events()) {
    BOOST_TEST((webhook::find_event(webhook::name(event)) == event));
  }
}

BOOST_AUTO_TEST_CASE(only_the_exact_name) {
  for (const auto* text :
       {"", "evaluacion", "Evaluacion.abierta", "evaluacion.abierta ", " evaluacion.abierta",
        "evaluación.abierta", "evaluacion_abierta", "evaluacion.abierta,incidencia.cerrada"}) {
    BOOST_TEST(!webhook::find_event(text).has_value(), text);
  }
  BOOST_TEST(!webhook::find_event(std::string_view("evaluacion.abierta\0", 19)).has_value());
}

BOOST_AUTO_TEST_CASE(a_set_is_in_catalogue_order_without_repeats) {
  EventSet set;
  BOOST_TEST(set.empty());
  BOOST_TEST(set.joined().empty());
  set.insert(Event::documento_disponible);
  set.insert(Event::evaluacion_abierta);
  set.insert(Event::documento_disponible);
  BOOST_TEST(!set.empty());
  BOOST_TEST(set.contains(Event::evaluacion_abierta));
  BOOST_TEST(!set.contains(Event::evaluacion_cerrada));
  BOOST_TEST((set.events() == std::vector{Event::evaluacion_abierta, Event::documento_disponible}));
  BOOST_TEST(set.joined() == "evaluacion.abierta,documento.disponible");
}

BOOST_AUTO_TEST_CASE(reads_what_joined_writes) {
  EventSet all;
  BOOST_TEST((EventSet::from_joined("") == all));
  for (const Event event : webhook::all_events()) {
    all.insert(event);
    BOOST_TEST((EventSet::from_joined(all.joined()) == all));
  }
  BOOST_TEST(EventSet::from_joined("incidencia.cerrada,evaluacion.abierta").joined() ==
             "evaluacion.abierta,incidencia.cerrada");
}

BOOST_AUTO_TEST_CASE(leaves_out_what_a_newer_version_wrote) {
  for (const auto* text : {"evento.nuevo", "evaluacion.abierta ", ",", ""})
    BOOST_TEST(EventSet::from_joined(text).empty(), text);
  for (const auto* text : {"evento.nuevo,evaluacion.abierta", "evaluacion.abierta,evento.nuevo"})
    BOOST_TEST(EventSet::from_joined(text).joined() == "evaluacion.abierta", text);
}

BOOST_AUTO_TEST_SUITE_END()
