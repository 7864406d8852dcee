from django.urls import path

from access.web import views

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("switch-tenant/", views.switch_tenant, name="switch-tenant"),
]
